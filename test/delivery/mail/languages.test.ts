import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTransport } from 'nodemailer'
import { TEXTS } from '../../../src/delivery/mail/layout.ts'
import { writeMail, writeNotice } from '../../../src/delivery/mail/messages.ts'
import { parseTemplate } from '../../../src/delivery/mail/template.ts'
import { type MailMessage, toSendOptions } from '../../../src/delivery/mail/transport.ts'
import { ALL_LANGUAGES, type Language, type Languages } from '../../../src/model/language.ts'
import { LINK_MAIL_KINDS, type LinkMailKind, MAIL_KINDS, NOTICE_KINDS, type NoticeKind } from '../../../src/model/mail.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)
const LETTERHEAD = { apiTitle: 'Acme', baseUrl: 'https://id.example.com', mailFrom: 'Acme <noreply@example.com>' }
const PROFILE = { email: 'mia@example.com', firstName: 'Mia', lastName: 'Muster' }
const OTHERS = ALL_LANGUAGES.filter((language) => language !== 'en')
const MAIL = { id: 3, recipient: PROFILE.email, revision: 1, attempts: 0, requestedAt: NOW, lease: 'x', detail: 'lk_abcdef ci' }

type Options = { readonly code?: string; readonly accountPagesEnabled?: boolean; readonly languages?: Languages }

function write(kind: LinkMailKind | NoticeKind, language: Language | undefined, { code, ...letterhead }: Options = {}): MailMessage {
  const link = LINK_MAIL_KINDS.find((one) => one === kind)
  const notice = NOTICE_KINDS.find((one) => one === kind)
  const head = { ...LETTERHEAD, ...letterhead }
  if (notice) return writeNotice(head, { ...MAIL, kind: notice, language }, NOW)
  const access = { token: 'a.b.c', ...(code !== undefined && { code }) }
  return writeMail(head, { ...MAIL, kind: link ?? 'verify' }, { profile: PROFILE, to: PROFILE.email, language }, access, NOW)
}

/** The texts of a mail, sentence by sentence, without what is the same in every language. */
function sentencesOf({ subject, text, html }: MailMessage): string[] {
  const shown = html.replace(/<style>[\s\S]*?<\/style>/, '').replace(/<[^>]+>/g, '\n')
  return `${subject}\n${text}\n${shown}`
    .split(/\n|(?<=[.:]) /)
    .map((line) => line.replace(/^- /, '').trim())
    .filter((line) => /\p{L}{2}/u.test(line) && line !== 'Acme' && !line.startsWith('https://') && !line.startsWith('ci (lk_'))
}

for (const kind of MAIL_KINDS)
  test(`${kind}: no sentence of the mail is the same in two languages`, () => {
    const written = ALL_LANGUAGES.map((language) => write(kind, language, kind === 'sign_in' ? { code: '12345678' } : {}))
    for (const [index, mail] of written.entries()) {
      const others = new Set(written.toSpliced(index, 1).flatMap(sentencesOf))
      assert.deepEqual(
        sentencesOf(mail).filter((sentence) => others.has(sentence)),
        [],
      )
      assert.ok(mail.html.includes(`<html lang="${ALL_LANGUAGES[index]}">`))
      assert.equal(mail.language, ALL_LANGUAGES[index])
    }
  })

/** Each entry of a catalogue with its path. A function is called with values that every language writes alike. */
function entriesOf(value: unknown, path: string): [path: string, text: string][] {
  if (typeof value === 'function') {
    const given = path.endsWith('duration') || path.endsWith('time') || path.endsWith('moreKeys') ? 7200 : undefined
    return entriesOf(value(given ?? Object.assign('VALUE', { title: 'TITLE', email: 'EMAIL', time: 'TIME' })), path)
  }
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, entry]) => entriesOf(entry, path === '' ? name : `${path}.${name}`))
  return [[path, String(value)]]
}

test('no entry of a catalogue is left in English, and each names what the English one names', () => {
  const english = new Map(entriesOf(TEXTS.en, ''))
  assert.ok(english.size > 90)
  for (const language of OTHERS) {
    const entries = entriesOf(TEXTS[language], '')
    assert.deepEqual(
      entries.map(([path]) => path),
      [...english.keys()],
    )
    for (const [path, text] of entries) {
      const original = english.get(path) ?? ''
      assert.notEqual(text, original, `${language}: ${path}`)
      for (const name of ['VALUE', 'TITLE', 'EMAIL', 'TIME'])
        assert.equal(text.includes(name), original.includes(name), `${language}: ${path} and ${name}`)
    }
  }
})

test('French has a space that does not break before a colon, and no other language has one', () => {
  for (const [path, text] of entriesOf(TEXTS.fr, '')) assert.doesNotMatch(text.replace(/\d:\d/g, ''), /[^\u00a0]:/, path)
  for (const language of ['en', 'de', 'es'] as const)
    for (const [path, text] of entriesOf(TEXTS[language], '')) assert.doesNotMatch(text, /\s:/, path)
})

test('durations, times and numbers follow the rules of the language', () => {
  const written = (language: Language) => {
    const { duration, time, moreKeys } = TEXTS[language]
    const texts = [duration(30), duration(1440), duration(10_080), time(NOW), moreKeys(1), moreKeys(5)]
    // French has spaces that do not break before some units.
    return texts.map((text) => text.replaceAll('\u00a0', ' '))
  }
  assert.deepEqual(written('en'), ['30 minutes', '24 hours', '7 days', '2026-01-02 at 03:04 UTC', 'and 1 more', 'and 5 more'])
  assert.deepEqual(written('de'), ['30 Minuten', '24 Stunden', '7 Tage', '2. Januar 2026 um 03:04 UTC', 'und 1 weiterer', 'und 5 weitere'])
  assert.deepEqual(written('fr'), ['30 minutes', '24 heures', '7 jours', '2 janvier 2026 à 03:04 UTC', 'et 1 autre', 'et 5 autres'])
  assert.deepEqual(written('es'), ['30 minutos', '24 horas', '7 días', '2 de enero de 2026 a las 03:04 UTC', 'y 1 más', 'y 5 más'])
})

test('a sign-in mail says in each language what works: the code, or the code and the link', () => {
  for (const language of ALL_LANGUAGES) {
    const { duration, eitherWorks, codeWorks } = TEXTS[language]
    const code = '12345678'
    assert.ok(write('sign_in', language, { code }).text.includes(eitherWorks(duration(15))))
    assert.ok(write('sign_in', language, { code, accountPagesEnabled: false }).text.includes(codeWorks(duration(15))))
  }
})

test('a mail is in the first language of the settings if that of the account is unknown or not among them', () => {
  const german = write('verify', 'de')
  for (const language of [undefined, 'fr'] as const) assert.deepEqual(write('verify', language, { languages: ['de', 'en'] }), german)
  assert.deepEqual(write('verify', undefined), write('verify', 'en'))
})

test('a mail names its language in a header, unless a template for every language is part of it', async () => {
  const common = parseTemplate('{{link}}', { kind: 'verify', part: 'text', hasLogo: false }).template
  const own = parseTemplate('{{first_name}}, hier: {{link}}', { kind: 'verify', part: 'text', hasLogo: false }).template
  const written = (templates: object, language: Language) => {
    const addressee = { profile: PROFILE, to: PROFILE.email, language }
    return writeMail({ ...LETTERHEAD, templates }, { ...MAIL, kind: 'verify' }, addressee, { token: 'a.b.c' }, NOW)
  }
  const raw = async (mail: MailMessage) => {
    const { message } = await createTransport({ streamTransport: true, buffer: true }).sendMail(toSendOptions(mail))
    return /^Content-Language: (.*)\r$/m.exec(String(message))?.[1]
  }
  const templates = { verify: { text: common }, de: { verify: { text: own } } }
  const link = 'https://id.example.com/verify/?code=a.b.c'
  assert.deepEqual([written(templates, 'de').text, await raw(written(templates, 'de'))], [`Mia, hier: ${link}`, 'de'])
  assert.deepEqual([written(templates, 'fr').text, await raw(written(templates, 'fr'))], [link, undefined])
  assert.equal(written(templates, 'fr').subject, TEXTS.fr.mails.verify.subject({ title: 'Acme', email: PROFILE.email }))
  assert.equal(await raw(written({}, 'fr')), 'fr')
})
