import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillHtml, fillSubject, fillText, type MailPart, parseTemplate } from '../../../../src/delivery/mail/template.ts'

function problemsOf(part: MailPart, source: string, hasLogo = false): string[] {
  return parseTemplate(source, { kind: 'verify', part, hasLogo }).problems.map(({ line, message }) => `${line}: ${message}`)
}

const HTML_NAMES =
  '{{title}}, {{first_name}}, {{last_name}}, {{email}}, {{link}}, {{lifetime}}, {{brand_color}}, {{brand_text_color}}, {{logo}}'

/** A part of a mail, a faulty template, and the problems that are reported. */
const FAULTY: readonly (readonly [MailPart, string, ...string[]])[] = [
  ['text', 'Hello {{first_name}}', '1: {{link}} is missing'],
  ['text', '', '1: {{link}} is missing'],
  [
    'text',
    'Hello\n\n{{link}}\n{{frist_name}}',
    '4: unknown placeholder {{frist_name}}; this file can have {{title}}, {{first_name}}, {{last_name}}, {{email}}, {{link}}, {{lifetime}}',
  ],
  [
    'text',
    '{{link}}\n{{First_Name}}',
    '2: unknown placeholder {{First_Name}}; this file can have {{title}}, {{first_name}}, {{last_name}}, {{email}}, {{link}}, {{lifetime}}',
  ],
  [
    'text',
    '{{link}} {{logo}}',
    '1: unknown placeholder {{logo}}; this file can have {{title}}, {{first_name}}, {{last_name}}, {{email}}, {{link}}, {{lifetime}}',
  ],
  ['text', '{{link}}\n{{ first name }}', '2: a placeholder should be a name between two braces on each side, such as {{first_name}}'],
  ['text', '{{link}}\n{{first_name}', '2: a placeholder should be a name between two braces on each side, such as {{first_name}}'],
  ['text', '{{link}}\n{{first_name\n}}', '2: a placeholder should be a name between two braces on each side, such as {{first_name}}'],
  ['html', '{{{first_name}}} {{link}}', '1: a placeholder should be a name between two braces on each side, such as {{first_name}}'],
  ['html', '{{link}} {{constructor}}', `1: unknown placeholder {{constructor}}; this file can have ${HTML_NAMES}`],
  [
    'html',
    '<p>{{link}}</p>\n<img src="{{logo}}">',
    '2: {{logo}} requires BRAND_LOGO to be a PNG file, because mail programs do not show SVG',
  ],
  ['html', '{{link}}\n<a href={{link}}>x</a>', '2: {{link}} should not be in a tag, outside of the quotes of an attribute'],
  ['html', '{{link}}\n<b\n{{first_name}}>x</b>', '3: {{first_name}} should not be in a tag, outside of the quotes of an attribute'],
  ['html', '{{link}}<a href="{{first_name}}">x</a>', '1: {{first_name}} is not an address and should not begin the attribute href'],
  ['html', "{{link}}<img src=' {{email}}'>", '1: {{email}} is not an address and should not begin the attribute src'],
  ['html', '{{link}}<b onclick="{{first_name}}">x</b>', '1: {{first_name}} should not be in the attribute onclick'],
  ['html', '{{link}}\n<!-- {{first_name}} -->', '2: {{first_name}} should not be in a comment'],
  ['html', '{{link}}\n<style>\nb { color: {{first_name}} }\n</style>', '3: {{first_name}} should not be in a style sheet'],
  ['html', '{{link}}\n<SCRIPT>alert(1)</script>', '2: should not contain a script: mail programs do not run it'],
  ['html', '{{link}}\n<script>{{first_name}}', '2: should not contain a script: mail programs do not run it'],
  ['subject', '', '1: the subject is empty'],
  ['subject', ' \n', '1: the subject is empty'],
  ['subject', 'Welcome\nBcc: evil@example.com', '2: the subject should be one line'],
  ['subject', 'Welcome\r\n', '1: the subject should not contain control characters'],
  ['subject', 'Wel\u0000come', '1: the subject should not contain control characters'],
  ['subject', 'x'.repeat(201), '1: the subject should have at most 200 characters'],
  ['subject', 'Open {{link}}', '1: the subject should not contain {{link}}: notifications and mail logs show it'],
  [
    'subject',
    '{{brand_color}}',
    '1: unknown placeholder {{brand_color}}; this file can have {{title}}, {{first_name}}, {{last_name}}, {{email}}, {{lifetime}}',
  ],
]

for (const [part, source, ...problems] of FAULTY) {
  test(`a template for the ${part} may not be ${JSON.stringify(source).slice(0, 60)}`, () => {
    assert.deepEqual(problemsOf(part, source), problems)
  })
}

const FINE: readonly (readonly [MailPart, string])[] = [
  ['text', '{{ first_name }}: {{link}} {{\tlifetime }}'],
  ['text', 'Braces { } and }} stay; {{link}}'],
  [
    'html',
    '<style>@media print { b { color: red }}\na { color: {{brand_color}} }</style><a href="{{link}}" title="{{first_name}} & co">{{title}}</a>',
  ],
  ['html', '<img alt="{{title}}" src="{{logo}}"><a href="{{link}}">1 < 2</a>'],
  ['html', '<a href="mailto:{{email}}">{{email}}</a> {{link}}'],
  ['subject', 'Welcome to {{title}}, {{first_name}}\n'],
]

for (const [part, source] of FINE) {
  test(`a template for the ${part} may be ${JSON.stringify(source).slice(0, 60)}`, () => {
    assert.deepEqual(problemsOf(part, source, true), [])
  })
}

test('values are escaped in HTML and left as they are in text', () => {
  const values = { first_name: `<b onclick="x">&'`, link: 'https://id.example.com/?a=b&c=d' }
  const filled = (part: MailPart) => parseTemplate('Hi {{first_name}}: {{link}}', { kind: 'verify', part, hasLogo: false }).template
  assert.equal(fillHtml(filled('html'), values), 'Hi &lt;b onclick=&quot;x&quot;&gt;&amp;&#39;: https://id.example.com/?a=b&amp;c=d')
  assert.equal(fillText(filled('text'), values), `Hi <b onclick="x">&': https://id.example.com/?a=b&c=d`)
})

test('a value cannot contain a placeholder, and cannot add a line to the subject', () => {
  const { template } = parseTemplate('{{first_name}} at {{title}}', { kind: 'verify', part: 'subject', hasLogo: false })
  assert.equal(
    fillSubject(template, { first_name: 'x\r\nBcc: evil@example.com', title: '{{email}}' }),
    'x Bcc: evil@example.com at {{email}}',
  )
})
