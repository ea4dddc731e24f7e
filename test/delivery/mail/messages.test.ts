import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTransport } from 'nodemailer'
import { parseMailbox, writeMail, writeNotice } from '../../../src/delivery/mail/messages.ts'
import { toSendOptions } from '../../../src/delivery/mail/transport.ts'
import { type Claimed, LINK_MAIL_KINDS, type LinkMailKind, type MailKind, type NoticeKind } from '../../../src/model/mail.ts'
import type { User } from '../../../src/model/user.ts'
import { LIFETIME_MINUTES } from '../../../src/security/token.ts'
import { findUserById } from '../../../src/storage/repositories/users/user.repository.ts'
import { startApp } from '../../support/app/start-app.ts'
import { ORIGIN } from '../../support/http/origins.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)
const TOKEN = 'aaa.bbb.ccc'
const ACCESS = { token: TOKEN }
const LETTERHEAD = { apiTitle: 'Latchkey', baseUrl: 'https://id.example.com/auth', mailFrom: 'Latchkey <noreply@mail.example.com>' }
const MIA: User = { id: 7, email: 'Mia@example.com', firstName: 'Mia', lastName: 'Muster', role: 'user', banned: false, verified: false }

function claimed<Kind extends MailKind>(kind: Kind): Claimed<Kind> {
  const content = { address: undefined, detail: undefined }
  return { id: 3, kind, recipient: 'mia@example.com', revision: 1, attempts: 0, requestedAt: NOW, lease: 'x', ...content }
}

function write(kind: LinkMailKind, { user = {}, letterhead = {} }: { user?: Partial<User>; letterhead?: Partial<typeof LETTERHEAD> } = {}) {
  const account = { ...MIA, ...user }
  const to = kind === 'email_change' ? 'Mia@new.example' : account.email
  return writeMail({ ...LETTERHEAD, ...letterhead }, claimed(kind), { profile: account, to }, ACCESS, NOW)
}

test('a verify mail contains the link, its lifetime and what to do if it was not requested, in both parts', () => {
  const mail = write('verify')
  assert.equal(mail.to, 'Mia@example.com')
  assert.equal(mail.subject, 'Verify your email address for Latchkey')
  assert.equal(mail.link, 'https://id.example.com/auth/verify/?code=aaa.bbb.ccc')
  for (const part of [mail.text, mail.html]) {
    for (const expected of [mail.link ?? 'no link', '24 hours', 'Hello Mia,', 'If you did not create this account'])
      assert.ok(part.includes(expected), expected)
  }
})

test('a reset mail contains the link, its lifetime and what to do if it was not requested, in both parts', () => {
  const mail = write('reset')
  assert.equal(mail.subject, 'Reset your password for Latchkey')
  assert.equal(mail.link, 'https://id.example.com/auth/reset-password/?code=aaa.bbb.ccc')
  for (const part of [mail.text, mail.html]) {
    for (const expected of [mail.link ?? 'no link', '30 minutes', 'Hello Mia,', 'If you did not request this'])
      assert.ok(part.includes(expected), expected)
  }
})

test('a mail to a new address contains the link and its lifetime, and nothing about the account', () => {
  const mail = write('email_change')
  assert.equal(mail.to, 'Mia@new.example')
  assert.equal(mail.subject, 'Confirm your new email address for Latchkey')
  assert.equal(mail.link, 'https://id.example.com/auth/confirm-email/?code=aaa.bbb.ccc')
  for (const part of [mail.text, mail.html]) {
    for (const expected of [mail.link ?? 'no link', '24 hours', 'Hello,', 'Mia@new.example', 'If you did not request this'])
      assert.ok(part.includes(expected), expected)
    for (const unexpected of ['Mia@example.com', 'Hello Mia', 'Muster']) assert.ok(!part.includes(unexpected), unexpected)
  }
})

const NOTICES: Readonly<Record<NoticeKind, readonly [subject: string, ...texts: string[]]>> = {
  password_changed: ['Your password for Latchkey was changed', 'If it was not you: request a password reset'],
  email_changed: ['The email address of your Latchkey account was changed', 'If it was not you: contact the operator of Latchkey'],
  admin_role: ['Your Latchkey account is now an admin', 'If you did not expect this: change your password'],
  key_leaked: ['An API key of your Latchkey account was found in public', 'ci (lk_abcdef…)', 'backup of files', 'disabled'],
  factor_added: ['Codes from an app were set up: your Latchkey account', 'If it was not you: change your password'],
  factor_removed: ['Codes from an app were turned off: your Latchkey account', 'If it was not you: change your password'],
  factor_reset: ['Your second factor was reset: your Latchkey account', 'If you did not ask for it: change your password'],
  provider_connected: ['An account of another provider was connected: your Latchkey account', 'If it was not you: change your password'],
  provider_disconnected: [
    'An account of another provider was disconnected: your Latchkey account',
    'If it was not you: change your password',
  ],
  passkey_added: ['A passkey was added: your Latchkey account', 'If it was not you: change your password'],
  passkey_removed: ['A passkey was removed: your Latchkey account', 'If it was not you: change your password'],
  recovery_code_used: ['A recovery code was used: your Latchkey account', 'If it was not you: change your password'],
}

test('a notice says what happened, when, and what to do if it was not expected, and has no link', () => {
  for (const [kind, [subject, ...texts]] of Object.entries(NOTICES) as [NoticeKind, [string, ...string[]]][]) {
    const detail = 'lk_abcdef ci\n backup of files\n backup of files'
    const mail = writeNotice(LETTERHEAD, { ...claimed(kind), address: 'Mia@example.com', detail }, NOW + 60_000)
    assert.deepEqual([mail.to, mail.subject, mail.link], ['Mia@example.com', subject, undefined])
    for (const part of [mail.text, mail.html])
      for (const expected of [...texts, 'Mia@example.com', '2026-01-02 at 03:04 UTC', 'Hello,'])
        assert.ok(part.includes(expected), expected)
    assert.doesNotMatch(`${mail.text}${mail.html}`, /https?:|<a |<form|undefined/)
  }
})

test('a notice names at most twenty keys, each once, and escapes them', () => {
  const names = Array.from({ length: 25 }, (_, index) => ` <b>key ${index}`)
  const { text, html } = writeNotice(LETTERHEAD, { ...claimed('key_leaked'), detail: [...names, ...names].join('\n') }, NOW)
  assert.ok(text.includes('- <b>key 0\n- <b>key 1\n') && text.includes('- and 5 more\n'))
  assert.ok(html.includes('&lt;b&gt;key 19<') && !html.includes('<b>key'))
})

test('a key whose name looks like a link or a message is named by its prefix', () => {
  for (const name of ['https://evil.example', 'log in at evil.example', 'x'.repeat(41)]) {
    const { text } = writeNotice(LETTERHEAD, { ...claimed('key_leaked'), detail: `lk_abcdef ${name}` }, NOW)
    assert.ok(text.includes('- a key that starts with lk_abcdef\n') && !text.includes(name), text)
  }
})

test('the link is on a line by itself in the text part', () => {
  for (const kind of LINK_MAIL_KINDS) {
    const mail = write(kind)
    assert.ok(mail.text.split('\n').includes(mail.link ?? 'no link'))
  }
})

test('no link in a mail leads anywhere but to BASE_URL, and nothing is loaded from elsewhere', () => {
  for (const kind of LINK_MAIL_KINDS) {
    const { html, text } = write(kind)
    const addresses = [...`${html}\n${text}`.matchAll(/[a-z]+:\/\/[^\s"'<>]+/g)].map(([url]) => url)
    assert.ok(addresses.length >= 3)
    for (const url of addresses) assert.ok(url.startsWith(`${LETTERHEAD.baseUrl}/`), url)
    assert.doesNotMatch(html, /<(?:img|script|link|iframe|form|base)\b|url\(|@import/i)
  }
})

test('HTML in a name, an address or a title is escaped in the HTML part', () => {
  const { html } = write('verify', {
    user: { firstName: `<b onclick="x">&'`, email: "o'<b>neil@example.com" },
    letterhead: { apiTitle: '<script>alert(1)</script> & "Co"' },
  })
  assert.ok(html.includes('Hello &lt;b onclick=&quot;x&quot;&gt;&amp;&#39;,'))
  assert.ok(html.includes('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;Co&quot;'))
  assert.ok(html.includes('o&#39;&lt;b&gt;neil@example.com'))
  assert.doesNotMatch(html, /<script|<b /)
})

test('a name that looks like a link or a message is left out of the mail', () => {
  const names = [
    'https://evil.example',
    'evil.example',
    'www.evil.example now',
    'a@evil.example',
    '\\\\evil',
    'You have won. Call now and tell us your code',
  ]
  for (const firstName of names) {
    const { html, text } = write('verify', { user: { firstName } })
    assert.ok(text.startsWith('Hello,\n'), firstName)
    assert.ok(!html.includes(firstName), firstName)
  }
  for (const firstName of ['J. R.', 'Anne-Marie', "O'Neil", 'José María', '美咲']) {
    assert.ok(write('verify', { user: { firstName } }).text.startsWith(`Hello ${firstName},\n`), firstName)
  }
})

test('the Message-ID is the same for each attempt at one mail, another for the next, and of the domain of MAIL_FROM', () => {
  const first = write('verify')
  assert.match(first.messageId, /^<[\w-]{32}@mail\.example\.com>$/)
  assert.equal(
    writeMail(
      LETTERHEAD,
      { ...claimed('verify'), attempts: 4, lease: 'y' },
      { profile: MIA, to: MIA.email },
      { token: 'd.e.f' },
      NOW + 60_000,
    ).messageId,
    first.messageId,
  )
  assert.notEqual(
    writeMail(LETTERHEAD, { ...claimed('verify'), revision: 2 }, { profile: MIA, to: MIA.email }, ACCESS, NOW).messageId,
    first.messageId,
  )
  assert.notEqual(write('reset').messageId, first.messageId)
})

test('MAIL_FROM is an address, with or without a name', () => {
  assert.deepEqual(parseMailbox('Latchkey <noreply@localhost>'), { name: 'Latchkey', address: 'noreply@localhost' })
  assert.deepEqual(parseMailbox('"Name, Inc." <a@b.io>'), { name: 'Name, Inc.', address: 'a@b.io' })
  assert.deepEqual(parseMailbox('"Name, Inc."<a@b.io>'), { name: 'Name, Inc.', address: 'a@b.io' })
  assert.deepEqual(parseMailbox('<noreply@localhost>'), { name: '', address: 'noreply@localhost' })
  assert.deepEqual(parseMailbox('noreply@localhost'), { name: '', address: 'noreply@localhost' })
})

test('a mail arrives with two parts, its headers, and one recipient', async (t) => {
  const { db, services, mailbox, clock } = await startApp(t, {
    env: { API_TITLE: 'Schlüssel & Söhne', MAIL_FROM: 'Schlüssel <post@example.org>' },
  })
  await services.registration.register(ORIGIN, {
    email: 'Mia@example.com',
    password: 'correct horse',
    firstName: 'Mía',
    lastName: 'Muster',
  })
  const [mail, ...others] = await mailbox.messages()
  assert.ok(mail)
  assert.deepEqual(others, [])
  const { headers } = mail
  assert.equal(headers.get('to'), 'Mia@example.com')
  assert.equal(headers.get('from'), 'Schlüssel <post@example.org>')
  assert.equal(headers.get('subject'), 'Verify your email address for Schlüssel & Söhne')
  assert.equal(headers.get('auto-submitted'), 'auto-generated')
  assert.match(headers.get('message-id') ?? '', /@example\.org>$/)
  assert.equal(Date.parse(headers.get('date') ?? ''), Math.floor(clock.now() / 1000) * 1000)
  assert.match(headers.get('content-type') ?? '', /^multipart\/alternative;/)
  for (const absent of ['cc', 'bcc']) assert.ok(!headers.has(absent))
  assert.ok(mail.text.startsWith('Hello Mía,\n'))
  assert.ok(mail.html.includes('Hello Mía,') && mail.html.includes(mail.link))
  assert.deepEqual(services.tokens.read(mail.code, 'verify'), {
    userId: 1,
    sessionId: undefined,
    version: (await findUserById(db, 1))?.emailVersion,
    expiresAt: Math.floor(clock.now() / 1000) * 1000 + LIFETIME_MINUTES.verify * 60_000,
    issuedAt: Math.floor(clock.now() / 1000) * 1000,
  })
})

test('a sender whose name needs quotes arrives with one pair of them', async () => {
  const message = write('verify', { letterhead: { mailFrom: '"Name, Inc." <a@b.io>' } })
  const { message: raw } = await createTransport({ streamTransport: true, buffer: true }).sendMail(toSendOptions(message))
  assert.match(String(raw), /^From: "Name, Inc\." <a@b\.io>\r$/m)
})

test('line breaks in a title, a name or an address do not inject headers', async () => {
  const evil = 'x\r\nBcc: evil@example.com\r\n\r\nbody'
  const message = {
    ...write('verify', { letterhead: { apiTitle: evil } }),
    to: `mia@example.com\r\nBcc: evil@example.com`,
    from: { name: evil, address: 'a@b.c' },
  }
  const { message: raw, envelope } = await createTransport({ streamTransport: true, buffer: true }).sendMail(toSendOptions(message))
  const head = String(raw).split('\r\n\r\n')[0] ?? ''
  assert.doesNotMatch(head, /^bcc:/im)
  assert.equal(envelope.to.length, 1)
})
