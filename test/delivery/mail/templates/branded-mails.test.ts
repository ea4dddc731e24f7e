import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTransport } from 'nodemailer'
import PostalMime from 'postal-mime'
import { type Letterhead, writeMail, writeNotice } from '../../../../src/delivery/mail/messages.ts'
import { type MailPart, parseTemplate, type Templates } from '../../../../src/delivery/mail/template.ts'
import { toSendOptions } from '../../../../src/delivery/mail/transport.ts'
import { brandColors, type Logo } from '../../../../src/model/brand.ts'
import type { User } from '../../../../src/model/user.ts'
import { makePng } from '../../../support/servers/png.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)
const MIA: User = { id: 7, email: 'Mia@example.com', firstName: 'Mia', lastName: 'Muster', role: 'user', banned: false, verified: false }
const MAIL = {
  id: 3,
  kind: 'verify',
  recipient: 'mia@example.com',
  revision: 1,
  attempts: 0,
  requestedAt: NOW,
  lease: 'x',
  address: undefined,
  detail: undefined,
} as const
const PNG: Logo = { type: 'png', bytes: makePng(480, 80), width: 480, height: 80 }
const SVG: Logo = { type: 'svg', bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>') }

function write(letterhead: Partial<Letterhead>, user: Partial<User> = {}, to = MIA.email) {
  const plain = { apiTitle: 'Acme', baseUrl: 'https://id.example.com', mailFrom: 'Acme <noreply@example.com>' }
  return writeMail({ ...plain, ...letterhead }, MAIL, { profile: { ...MIA, ...user }, to }, { token: 'a.b.c' }, NOW)
}

function templates(sources: Readonly<Partial<Record<MailPart, string>>>): Templates {
  const parsed = Object.entries(sources).map(([part, source]) => {
    const { template, problems } = parseTemplate(source, { kind: 'verify', part: part as MailPart, hasLogo: true })
    assert.deepEqual(problems, [])
    return [part, template]
  })
  return { verify: Object.fromEntries(parsed) }
}

test('a template replaces its part of the mail, and the others stay built-in', () => {
  const builtIn = write({})
  const mail = write({ templates: templates({ text: 'Hi {{first_name}} {{last_name}} <{{email}}>, {{lifetime}}:\n{{link}}\n' }) })
  assert.equal(mail.text, 'Hi Mia Muster <Mia@example.com>, 24 hours:\nhttps://id.example.com/verify/?code=a.b.c\n')
  assert.deepEqual([mail.subject, mail.html, mail.link], [builtIn.subject, builtIn.html, builtIn.link])
})

test('names and the title are escaped in an HTML template', () => {
  const html = '<a href="{{link}}" title="{{first_name}}">{{first_name}} {{title}}</a>'
  const mail = write({ apiTitle: 'A & <B>', templates: templates({ html }) }, { firstName: `"><img src=x>'` })
  const name = '&quot;&gt;&lt;img src=x&gt;&#39;'
  assert.equal(mail.html, `<a href="https://id.example.com/verify/?code=a.b.c" title="${name}">${name} A &amp; &lt;B&gt;</a>`)
})

test('a name that looks like a link or a message is not in the mail', () => {
  const forged = { firstName: 'Visit https://evil.example', lastName: 'www.evil.example' }
  const source = '{{first_name}}|{{last_name}}|{{link}}'
  const mail = write({ templates: templates({ subject: '{{first_name}}|{{last_name}}', text: source, html: source }) }, forged)
  assert.equal(mail.subject, 'Mia@example.com|')
  for (const part of [mail.text, mail.html]) assert.equal(part, 'Mia@example.com||https://id.example.com/verify/?code=a.b.c')
})

test('a mail to a new address does not name the account, because the address may belong to a stranger', () => {
  const text = '{{first_name}}|{{last_name}}|{{email}}|{{link}}'
  const mail = write({ templates: templates({ text }) }, {}, 'new@example.com')
  assert.equal(mail.text, 'new@example.com||new@example.com|https://id.example.com/verify/?code=a.b.c')
})

test('a brand colour is the colour of the button and the links, in both schemes', () => {
  const colors = brandColors('#0b7a5c')
  const { html } = write({ brand: { colors, logo: undefined } })
  assert.ok(html.includes(`bgcolor="${colors.light.fill}"`))
  assert.ok(html.includes(`.button { background-color: ${colors.dark.fill} !important; }`))
  assert.ok(html.includes(`.link { color: ${colors.dark.text} !important; }`))
  assert.doesNotMatch(html, /#2457d6|#6d9bff/)
})

test('a PNG logo is part of the mail and scaled down; an SVG logo leaves the title', async () => {
  const mail = write({ brand: { colors: undefined, logo: PNG } })
  assert.match(mail.html, /<img src="cid:logo@latchkey" width="240" height="40" alt="Acme"/)
  const { message } = await createTransport({ streamTransport: true, buffer: true }).sendMail(toSendOptions(mail))
  const { attachments, html, text } = await PostalMime.parse(message as Buffer)
  assert.deepEqual(
    attachments.map(({ mimeType, contentId, disposition }) => [mimeType, contentId, disposition]),
    [['image/png', '<logo@latchkey>', 'inline']],
  )
  assert.deepEqual(Buffer.from(attachments[0]?.content as ArrayBuffer), PNG.bytes)
  assert.ok(html?.includes('cid:logo@latchkey') && text?.includes(mail.link ?? 'no link'))
  const withSvg = write({ brand: { colors: undefined, logo: SVG } })
  assert.deepEqual([withSvg.html, withSvg.images], [write({}).html, []])
})

test('a mail contains the logo only where its template shows it', () => {
  const brand = { colors: undefined, logo: PNG }
  assert.equal(write({ brand, templates: templates({ html: '<img src="{{logo}}" alt=""> {{link}}' }) }).images?.length, 1)
  assert.equal(write({ brand, templates: templates({ html: '{{link}}' }) }).images?.length, 0)
})

test('templates replace the texts of a notice, with the time and the keys, escaped in HTML', () => {
  const parse = (source: string, part: MailPart) => {
    const { template, problems } = parseTemplate(source, { kind: 'key_leaked', part, hasLogo: false })
    assert.deepEqual(problems, [])
    return template
  }
  const templates = {
    key_leaked: {
      subject: parse('{{title}}: {{keys}}', 'subject'),
      text: parse('{{email}}, {{time}}: {{keys}}\n', 'text'),
      html: parse('<p>{{first_name}}: {{keys}}</p>', 'html'),
    },
  }
  const letterhead = { apiTitle: 'Acme', baseUrl: 'https://id.example.com', mailFrom: 'Acme <noreply@example.com>', templates }
  const notice = { ...MAIL, kind: 'key_leaked', address: 'Mia@example.com', detail: 'lk_abcdef a&b\n old' } as const
  const { subject, text, html } = writeNotice(letterhead, notice, NOW)
  assert.equal(subject, 'Acme: a&b (lk_abcdef…), old')
  assert.equal(text, 'Mia@example.com, 2026-01-02 at 03:04 UTC: a&b (lk_abcdef…), old\n')
  assert.equal(html, '<p>Mia@example.com: a&amp;b (lk_abcdef…), old</p>')
  assert.notDeepEqual(parseTemplate('{{link}}', { kind: 'key_leaked', part: 'text', hasLogo: false }).problems, [])
})
