import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { countTemplates, openTemplates } from '../../../../src/delivery/mail/template.ts'
import { MAIL_KINDS } from '../../../../src/model/mail.ts'
import { temporaryFolder } from '../../../support/databases/databases.ts'

const NAMES = MAIL_KINDS.flatMap((kind) => [`${kind}.subject.txt`, `${kind}.txt`, `${kind}.html`]).join(', ')

/** The errors about a folder with these files, without its path. */
async function errorsOf(t: TestContext, files: Readonly<Record<string, string | Buffer>>): Promise<string[]> {
  const folder = temporaryFolder(t)
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  const { errors } = await openTemplates(folder, { hasLogo: false })
  return errors.map((error) => error.replaceAll(`${folder}/`, ''))
}

test('each part of each mail can be replaced, and the others keep their built-in text', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'verify.subject.txt'), 'Welcome\n')
  writeFileSync(join(folder, 'reset.html'), '<p>{{link}}</p>')
  const { templates, errors } = await openTemplates(folder, { hasLogo: false })
  assert.deepEqual(errors, [])
  assert.deepEqual(templates, { verify: { subject: ['Welcome'] }, reset: { html: ['<p>', { placeholder: 'link' }, '</p>'] } })
})

test('line ends of Windows and a byte order mark do not matter', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'verify.subject.txt'), '\uFEFFWelcome\r\n')
  assert.deepEqual(await openTemplates(folder, { hasLogo: false }), { templates: { verify: { subject: ['Welcome'] } }, errors: [] })
})

test('every problem of every file is reported, with the file and the line', async (t) => {
  const errors = await errorsOf(t, { 'verify.txt': 'Hi\n{{nam}}\n{{link', 'reset.subject.txt': 'a\nb', 'reset.txt': '{{link}}' })
  assert.deepEqual(
    errors.map((error) => error.split(';')[0]),
    [
      'reset.subject.txt:2: the subject should be one line',
      'verify.txt:1: {{link}} is missing',
      'verify.txt:2: unknown placeholder {{nam}}',
      'verify.txt:3: a placeholder should be a name between two braces on each side, such as {{first_name}}',
    ],
  )
})

test('a file with another name is reported, so that a misspelt one is not ignored', async (t) => {
  const unknown = (name: string) => `${name}:1: is not the name of a template; the names are ${NAMES}`
  assert.deepEqual(await errorsOf(t, { 'verfy.txt': '{{link}}', 'Verify.html': '{{link}}' }), ['Verify.html', 'verfy.txt'].map(unknown))
})

test('hidden files and folders are ignored', async (t) => {
  assert.deepEqual(await errorsOf(t, { '.gitignore': '*', '..data': '' }), [])
})

test('a file that cannot be used is reported', async (t) => {
  assert.deepEqual(await errorsOf(t, { 'verify.txt': Buffer.from([0x7b, 0xff, 0xfe]) }), ['verify.txt:1: should be UTF-8 text'])
  assert.deepEqual(await errorsOf(t, { 'verify.txt': `{{link}}${'x'.repeat(102_400)}` }), [
    'verify.txt:1: should have at most 100 KB, because mail programs cut off longer mails',
  ])
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'verify.txt'))
  symlinkSync(join(folder, 'nowhere'), join(folder, 'reset.txt'))
  const { errors } = await openTemplates(folder, { hasLogo: false })
  assert.deepEqual(errors, [`${folder}/reset.txt:1: does not exist`, `${folder}/verify.txt:1: should be a file`])
})

test('a folder with the name of a language has templates for it, with the same rules', async (t) => {
  const folder = temporaryFolder(t)
  for (const name of ['de', 'it']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'reset.subject.txt'), 'Reset')
  writeFileSync(join(folder, 'de', 'verify.subject.txt'), 'Willkommen')
  writeFileSync(join(folder, 'de', 'verfy.txt'), '')
  writeFileSync(join(folder, 'fr'), '')
  const { templates, errors } = await openTemplates(folder, { hasLogo: false })
  assert.deepEqual(templates, { reset: { subject: ['Reset'] }, de: { verify: { subject: ['Willkommen'] } }, fr: {} })
  assert.equal(countTemplates(templates), 2)
  assert.deepEqual(errors, [
    `${folder}/it:1: is not the name of a template; the names are ${NAMES}`,
    `${folder}/de/verfy.txt:1: is not the name of a template; the names are ${NAMES}`,
    `${folder}/fr is not a folder`,
  ])
})

test('a folder that cannot be read is reported', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'file'), '')
  assert.deepEqual((await openTemplates(join(folder, 'nowhere'), { hasLogo: false })).errors, [`${folder}/nowhere does not exist`])
  assert.deepEqual((await openTemplates(join(folder, 'file'), { hasLogo: false })).errors, [`${folder}/file is not a folder`])
})
