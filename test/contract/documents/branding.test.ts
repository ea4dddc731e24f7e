import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAIL_PARTS, parseTemplate, placeholdersOf, templateFileName } from '../../../src/delivery/mail/template.ts'
import { MAIL_KINDS } from '../../../src/model/mail.ts'
import { read } from '../../support/documents.ts'

const document = read('docs/branding.md')

test('docs/branding.md lists every template file, and no other', () => {
  const listed = [...document.matchAll(/^\| [^`|]+ \| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$/gm)].flatMap(([, ...names]) => names)
  assert.deepEqual(listed.toSorted(), MAIL_KINDS.flatMap((kind) => MAIL_PARTS.map((part) => templateFileName(kind, part))).toSorted())
})

test('docs/branding.md lists every placeholder, and no other', () => {
  const listed = [...document.matchAll(/^\| `\{\{(\w+)\}\}` \|/gm)].map(([, name]) => name)
  const names = new Set(MAIL_KINDS.flatMap((kind) => MAIL_PARTS.flatMap((part) => placeholdersOf(kind, part))))
  assert.deepEqual(listed.toSorted(), [...names].toSorted())
})

test('the template in docs/branding.md is valid', () => {
  const [, source = ''] = /```html\n([\s\S]*?)```/.exec(document) ?? []
  assert.deepEqual(parseTemplate(source, { kind: 'verify', part: 'html', hasLogo: false }).problems, [])
})
