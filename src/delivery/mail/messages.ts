import { createHash } from 'node:crypto'
import { type Brand, NO_BRAND } from '../../model/brand.ts'
import type { Claimed, ClaimedMail, LinkMailKind } from '../../model/mail.ts'
import type { Profile } from '../../model/user.ts'
import { LIFETIME_MINUTES } from '../../security/token.ts'
import { htmlBody, LOGO_ADDRESS, MAIL_COLORS, type MailContent, textBody } from './layout.ts'
import { type ClaimedNotice, isSafeName, noticeItems, noticeTexts, noticeTime } from './notices.ts'
import { fillHtml, fillSubject, fillText, NO_TEMPLATES, type PlaceholderValues, type Templates } from './template.ts'
import type { Mailbox, MailImage, MailMessage } from './transport.ts'

export type Letterhead = {
  readonly apiTitle: string
  readonly baseUrl: string
  readonly mailFrom: string
  /** Without the account pages, a sign-in mail has its code only. */
  readonly accountPagesEnabled?: boolean
  readonly brand?: Brand
  /** The files of the operator that replace built-in texts. */
  readonly templates?: Templates
}

/** The account that a mail is about, and the address that it goes to, as it was typed. */
type Addressee = { readonly profile: Profile; readonly to: string }
/** What gives access: the token in the link and, in a sign-in mail, a code. */
type Access = { readonly token: string; readonly code?: string }

export function writeMail(
  letterhead: Letterhead,
  mail: Claimed<LinkMailKind>,
  { profile: user, to }: Addressee,
  { token, code }: Access,
  now: number,
): MailMessage {
  const { path, action, note, ...texts } = linkTexts(mail.kind, letterhead.apiTitle, to)
  const lifetime = formatDuration(LIFETIME_MINUTES[mail.kind])
  const url = `${letterhead.baseUrl}${path}?code=${encodeURIComponent(token)}`
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
  return compose(letterhead, mail, to, now, {
    ...texts,
    subject: `${texts.heading} for ${letterhead.apiTitle}`,
    greeting: isNamed && isSafeName(user.firstName) ? `Hello ${user.firstName},` : 'Hello,',
    ...(code !== undefined && { items: [code] }),
    ...(hasLink && { link: { action, url } }),
    notes: [`${code === undefined ? 'The link works' : hasLink ? 'Either works' : 'The code works'} once, within ${lifetime}.`, note],
    values,
  })
}

/** Writes a notice to the address that the account had when it was queued. */
export function writeNotice(letterhead: Letterhead, mail: ClaimedNotice, now: number): MailMessage {
  const to = mail.address ?? mail.recipient
  const values = { first_name: to, last_name: '', time: noticeTime(mail), keys: noticeItems(mail).join(', ') }
  return compose(letterhead, mail, to, now, { ...noticeTexts(mail, letterhead.apiTitle, to), greeting: 'Hello,', values })
}

type Composition = Omit<MailContent, 'title' | 'footer'> & {
  readonly purpose: string
  readonly subject: string
  readonly values: PlaceholderValues
}

function compose(letterhead: Letterhead, mail: ClaimedMail, to: string, now: number, composition: Composition): MailMessage {
  const { apiTitle, mailFrom, brand = NO_BRAND, templates = NO_TEMPLATES } = letterhead
  const { purpose, subject, values: ownValues, ...texts } = composition
  const footer = `This mail was sent by ${apiTitle} to ${to}. Please do not reply: replies are not read.`
  const content: MailContent = { ...texts, title: apiTitle, footer }
  const from = parseMailbox(mailFrom)
  const template = templates[mail.kind] ?? {}
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
    purpose,
    link: content.link?.url,
  }
}

function linkTexts(kind: LinkMailKind, apiTitle: string, email: string) {
  switch (kind) {
    case 'verify':
      return {
        path: '/verify/',
        purpose: 'verify your address',
        heading: 'Verify your email address',
        intro: `Welcome to ${apiTitle}. To activate your account, open the link below and confirm that ${email} is your address.`,
        action: 'Verify email address',
        note: 'If you did not create this account, ignore this mail. The account cannot be used without the link.',
      }
    case 'reset':
      return {
        path: '/reset-password/',
        purpose: 'reset your password',
        heading: 'Reset your password',
        intro: `We received a request to reset the ${apiTitle} password for ${email}. Open the link below to choose a new password.`,
        action: 'Choose a new password',
        note: 'If you did not request this, ignore this mail. Your password stays the same. Do not share the link with anyone.',
      }
    case 'email_change':
      return {
        path: '/confirm-email/',
        purpose: 'confirm your new address',
        heading: 'Confirm your new email address',
        intro: `We received a request to use ${email} as the address of a ${apiTitle} account. Open the link below to confirm that it is your address.`,
        action: 'Confirm email address',
        note: 'If you did not request this, ignore this mail and do not open the link. No account uses your address without it.',
      }
    case 'sign_in':
      return {
        path: '/account/email-sign-in',
        purpose: 'sign in',
        heading: 'Your sign-in code',
        intro: `We received a request to sign in to ${apiTitle} as ${email}. Enter this code where you asked to sign in, or open the link:`,
        action: 'Sign in',
        note: 'If you did not request this, ignore this mail. Nobody can sign in without the code or the link. Do not share them with anyone.',
      }
    case 'invitation':
      return {
        path: '/account/invitation',
        purpose: 'accept the invitation',
        heading: 'Your invitation',
        intro: `You are invited to ${apiTitle} with the address ${email}. Open the link below to choose a password and to sign in.`,
        action: 'Accept the invitation',
        note: 'If you did not expect this, ignore this mail. There is no account until you accept.',
      }
  }
}

function imagesOf(html: string, { logo }: Brand): readonly MailImage[] {
  if (logo?.type !== 'png' || !html.includes(LOGO_ADDRESS)) return []
  return [{ id: LOGO_ADDRESS.replace('cid:', ''), fileName: 'logo.png', contentType: 'image/png', bytes: logo.bytes }]
}

function formatDuration(minutes: number): string {
  if (minutes % (24 * 60) === 0 && minutes > 24 * 60) return `${minutes / (24 * 60)} days`
  return minutes % 60 === 0 ? `${minutes / 60} hours` : `${minutes} minutes`
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
