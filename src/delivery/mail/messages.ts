import { createHash } from 'node:crypto'
import { type Brand, NO_BRAND } from '../../model/brand.ts'
import { ALL_LANGUAGES, type Language, type Languages } from '../../model/language.ts'
import { type Claimed, type ClaimedMail, isNoticeKind, type LinkMailKind, type MailKind, type NoticeKind } from '../../model/mail.ts'
import type { Profile } from '../../model/user.ts'
import { LIFETIME_MINUTES } from '../../security/token.ts'
import { htmlBody, LOGO_ADDRESS, MAIL_COLORS, type MailContent, TEXTS, textBody } from './layout.ts'
import { fillHtml, fillSubject, fillText, NO_TEMPLATES, type PlaceholderValues, type Templates, templatesFor } from './template.ts'
import type { MailTexts } from './texts/en.ts'
import type { Mailbox, MailImage, MailMessage } from './transport.ts'

export type Letterhead = {
  readonly apiTitle: string
  readonly baseUrl: string
  readonly mailFrom: string
  /** Without the account pages, a sign-in mail has its code only. */
  readonly accountPagesEnabled?: boolean
  readonly brand?: Brand
  /** The first is for everybody whose language is not known or not among them. */
  readonly languages?: Languages
  /** The files of the operator that replace built-in texts. */
  readonly templates?: Templates
}

const PATHS: Readonly<Record<LinkMailKind, string>> = {
  verify: '/verify/',
  reset: '/reset-password/',
  email_change: '/confirm-email/',
  sign_in: '/account/email-sign-in',
  invitation: '/account/invitation',
}

/** What a mail is for, in the output of a terminal, which is English. */
const PURPOSES: Readonly<Record<MailKind, string>> = {
  verify: 'verify your address',
  reset: 'reset your password',
  email_change: 'confirm your new address',
  sign_in: 'sign in',
  invitation: 'accept the invitation',
  password_changed: 'your password was changed',
  email_changed: 'your address was changed',
  admin_role: 'your account is an admin',
  key_leaked: 'an API key was found in public',
  factor_added: 'codes from an app were set up',
  factor_removed: 'codes from an app were turned off',
  factor_reset: 'your second factor was reset',
  passkey_added: 'a passkey was added',
  passkey_removed: 'a passkey was removed',
  provider_connected: 'an account of another provider was connected',
  provider_disconnected: 'an account of another provider was disconnected',
  recovery_code_used: 'a recovery code was used',
}

/** The account that a mail is about, its language, and the address that the mail goes to, as it was typed. */
type Addressee = { readonly profile: Profile; readonly to: string; readonly language?: Language | undefined }
/** What gives access: the token in the link and, in a sign-in mail, a code. */
type Access = { readonly token: string; readonly code?: string }

export function writeMail(
  letterhead: Letterhead,
  mail: Claimed<LinkMailKind>,
  { profile: user, to, language: known }: Addressee,
  { token, code }: Access,
  now: number,
): MailMessage {
  const language = languageOf(letterhead, known ?? mail.language)
  const texts = TEXTS[language]
  const { subject, heading, intro, action, note } = texts.mails[mail.kind]
  const lifetime = texts.duration(LIFETIME_MINUTES[mail.kind])
  const url = `${letterhead.baseUrl}${PATHS[mail.kind]}?code=${encodeURIComponent(token)}`
  // A new address may belong to a stranger, who learns nothing about the account.
  const isNamed = to === user.email
  const values = {
    // A template has text around the name, so that something has to be there.
    first_name: isNamed && isSafeName(user.firstName) ? user.firstName : to,
    last_name: isNamed && isSafeName(user.lastName) ? user.lastName : '',
    link: url,
    lifetime,
    ...(code !== undefined && { code }),
  }
  const hasLink = code === undefined || letterhead.accountPagesEnabled !== false
  const works = code === undefined ? texts.linkWorks : hasLink ? texts.eitherWorks : texts.codeWorks
  const names = { title: letterhead.apiTitle, email: to }
  return compose(letterhead, mail, to, now, {
    language,
    subject: subject(names),
    heading,
    intro: intro(names),
    greeting: isNamed && isSafeName(user.firstName) ? texts.greetingTo(user.firstName) : texts.greeting,
    ...(code !== undefined && { items: [code] }),
    ...(hasLink && { link: { action, url } }),
    notes: [works(lifetime), note],
    values,
  })
}

/**
 * Writes a notice to the address that the account had when it was queued. It has no link: a reader must not get used to mails about security
 * that lead to a page with a password field.
 */
export function writeNotice(letterhead: Letterhead, mail: ClaimedNotice, now: number): MailMessage {
  const to = mail.address ?? mail.recipient
  const language = languageOf(letterhead, mail.language)
  const texts = TEXTS[language]
  const { subject, heading, intro, notes } = texts.notices[mail.kind]
  const items = noticeItems(mail, texts)
  const time = texts.time(mail.requestedAt)
  const names = { title: letterhead.apiTitle, email: to, time }
  return compose(letterhead, mail, to, now, {
    language,
    subject: subject(names),
    heading,
    greeting: texts.greeting,
    intro: intro(names),
    ...(mail.kind === 'key_leaked' && { items }),
    notes: notes(names),
    values: { first_name: to, last_name: '', time, keys: items.join(', ') },
  })
}

/** The language of an account, or the first one of the settings if it is not known or not among them. */
function languageOf({ languages = ALL_LANGUAGES }: Letterhead, known: Language | undefined): Language {
  return languages.find((language) => language === known) ?? languages[0]
}

type Composition = Omit<MailContent, 'title' | 'footer'> & {
  readonly subject: string
  readonly values: PlaceholderValues
}

function compose(letterhead: Letterhead, mail: ClaimedMail, to: string, now: number, composition: Composition): MailMessage {
  const { apiTitle, mailFrom, brand = NO_BRAND, templates = NO_TEMPLATES } = letterhead
  const { subject, values: ownValues, ...texts } = composition
  const { language } = texts
  const content: MailContent = { ...texts, title: apiTitle, footer: TEXTS[language].footer({ title: apiTitle, email: to }) }
  const from = parseMailbox(mailFrom)
  const { template, isInLanguage } = templatesFor(templates, language, mail.kind)
  const { light } = brand.colors ?? MAIL_COLORS
  const colors = { brand_color: light.fill, brand_text_color: light.onFill }
  const values = { title: apiTitle, email: to, ...colors, logo: LOGO_ADDRESS, ...ownValues }
  const html = template.html === undefined ? htmlBody(content, brand) : fillHtml(template.html, values)
  return {
    messageId: messageId(mail, from),
    date: new Date(now),
    from,
    to,
    subject: template.subject === undefined ? subject : fillSubject(template.subject, values),
    text: template.text === undefined ? textBody(content) : fillText(template.text, values),
    html,
    images: imagesOf(html, brand),
    purpose: PURPOSES[mail.kind],
    link: content.link?.url,
    language: isInLanguage ? language : undefined,
  }
}

function imagesOf(html: string, { logo }: Brand): readonly MailImage[] {
  if (logo?.type !== 'png' || !html.includes(LOGO_ADDRESS)) return []
  return [{ id: LOGO_ADDRESS.replace('cid:', ''), fileName: 'logo.png', contentType: 'image/png', bytes: logo.bytes }]
}

/** Parses `Name <address>`, with or without quotes around the name, or a bare address. */
export function parseMailbox(text: string): Mailbox {
  const [, quoted, plain = '', address = text] = /^(?:"([^"]*)"|(.*?))\s*<([^<>]+)>$/.exec(text) ?? []
  return { name: quoted ?? plain, address }
}

/** Every attempt at one mail has the same id, so that a mail server can recognise a duplicate. It reveals nothing else. */
function messageId({ id, revision, kind, recipient, requestedAt }: ClaimedMail, { address }: Mailbox): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([id, revision, kind, recipient, requestedAt]))
    .digest('base64url')
  return `<${digest.slice(0, 32)}@${address.slice(address.lastIndexOf('@') + 1)}>`
}

type ClaimedNotice = Claimed<NoticeKind>

const MAX_ITEMS = 20

export function isNotice(mail: ClaimedMail): mail is ClaimedNotice {
  return isNoticeKind(mail.kind)
}

// Anyone can register someone else's address, or name a key of an account that they broke into. A name that looks like a link or a message
// is left out of mails.
const UNSAFE_NAME = /[/\\:@]|\.\S|.{41}/u

function isSafeName(name: string): boolean {
  return !UNSAFE_NAME.test(name)
}

/** What a notice names. Each line of the detail has the prefix of a key and its name. Old keys have no known prefix. */
function noticeItems({ detail = '' }: ClaimedNotice, texts: MailTexts): string[] {
  if (detail === '') return []
  const names = [...new Set(detail.split('\n').map((line) => keyItem(line, texts)))]
  const others = names.length - MAX_ITEMS
  return others > 0 ? [...names.slice(0, MAX_ITEMS), texts.moreKeys(others)] : names
}

function keyItem(line: string, { keyWithPrefix, keyWithoutPrefix }: MailTexts): string {
  const [prefix = '', ...words] = line.split(' ')
  const name = words.join(' ')
  if (prefix === '') return isSafeName(name) ? name : keyWithoutPrefix
  return isSafeName(name) ? `${name} (${prefix}…)` : keyWithPrefix(prefix)
}
