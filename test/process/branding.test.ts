import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { examine } from '../../src/doctor/examine.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { fetchPatiently } from '../support/http/patience.ts'
import { newEmail, PASSWORD } from '../support/http/requests.ts'
import { problems, validSettings } from '../support/processes/doctor.ts'
import { MAIN, runNode } from '../support/processes/processes.ts'
import { devMailUrl, startProcess, untilPrinted } from '../support/processes/service-process.ts'
import { makePng } from '../support/servers/png.ts'

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'

/** A folder with files, for the settings of a service that runs in it. */
function folderWith(t: TestContext, files: Readonly<Record<string, string | Buffer>>): string {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'mails'))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return folder
}

/** Settings that stop the start, and the lines that say why. */
const FAULTY: readonly (readonly [string, Readonly<Record<string, string | Buffer>>, Readonly<Record<string, string>>, ...string[]])[] = [
  [
    'a faulty template',
    { 'mails/verify.txt': 'Hi\n{{nam}}' },
    { TEMPLATES_DIR: 'mails' },
    'TEMPLATES_DIR: mails/verify.txt:1: {{link}} is missing',
    'TEMPLATES_DIR: mails/verify.txt:2: unknown placeholder {{nam}}',
  ],
  ['a missing folder', {}, { TEMPLATES_DIR: 'nowhere' }, 'TEMPLATES_DIR: nowhere does not exist'],
  ['a missing logo', {}, { BRAND_LOGO: 'logo.svg' }, 'BRAND_LOGO: logo.svg does not exist'],
  [
    'a logo that is not an image',
    { 'logo.png': 'GIF89a' },
    { BRAND_LOGO: 'logo.png' },
    'BRAND_LOGO: logo.png is neither a PNG file nor an SVG file',
  ],
  [
    'a template with a logo that mails cannot show',
    { 'mails/reset.html': '{{link}}\n<img src="{{logo}}">', 'logo.svg': SVG },
    { TEMPLATES_DIR: 'mails', BRAND_LOGO: 'logo.svg' },
    'TEMPLATES_DIR: mails/reset.html:2: {{logo}} requires BRAND_LOGO to be a PNG file, because mail programs do not show SVG',
  ],
  ['a bad colour', {}, { BRAND_COLOR: 'blue' }, 'BRAND_COLOR: should be #rrggbb, such as #1f5eff, is "blue"'],
]

for (const [what, files, env, ...lines] of FAULTY) {
  test(`${what} stops the start with a line for each error, before anything is created`, async (t) => {
    const cwd = folderWith(t, files)
    const { code, stdout, stderr } = await runNode(t, MAIN, [], { cwd, env })
    assert.deepEqual([code, stdout], [1, ''])
    assert.deepEqual(
      stderr
        .trim()
        .split('\n')
        .map((line) => line.replace('latchkey: ', '').split('; this file')[0]),
      lines,
    )
    assert.throws(() => writeFileSync(join(cwd, 'data', 'x'), ''), { code: 'ENOENT' })
  })
}

test('doctor reports faulty templates and logos as the start does, and nothing where they are not set', async (t) => {
  const { env } = await validSettings(t)
  assert.deepEqual(
    (await examine(env)).filter(({ check }) => check === 'branding'),
    [],
  )
  const folder = folderWith(t, { 'mails/verify.txt': 'Hi', 'logo.svg': SVG })
  const faulty = await examine({ ...env, TEMPLATES_DIR: join(folder, 'mails'), BRAND_LOGO: join(folder, 'logo.svg') })
  assert.deepEqual(problems(faulty, 'branding'), [`error: TEMPLATES_DIR: ${folder}/mails/verify.txt:1: {{link}} is missing`])
  writeFileSync(join(folder, 'mails/verify.txt'), 'Hi {{link}}')
  const valid = await examine({ ...env, TEMPLATES_DIR: join(folder, 'mails'), BRAND_LOGO: join(folder, 'logo.svg') })
  assert.deepEqual(
    valid.filter(({ check }) => check === 'branding').map(({ verdict, message }) => [verdict, message]),
    [['ok', `valid; 1 text of mails in ${folder}/mails`]],
  )
})

test('a mail of the service has the texts, the colour and the logo of the settings', async (t) => {
  const folder = folderWith(t, {
    'mails/verify.subject.txt': 'Welcome to {{title}}, {{first_name}}\n',
    'mails/verify.txt': 'Hi {{first_name}}!\n{{link}}\n',
    'logo.png': makePng(480, 80),
  })
  const env = { TEMPLATES_DIR: 'mails', BRAND_LOGO: 'logo.png', BRAND_COLOR: '#0b7a5c', API_TITLE: 'Acme' }
  const service = await startProcess(t, env, folder)
  const email = newEmail()
  const body = JSON.stringify({ email, password: PASSWORD, first_name: 'Mia', last_name: 'Muster' })
  await fetchPatiently(`${service.url}/register/`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  await untilPrinted(service, new RegExp(`Mail to ${email}`))
  const [mail] = (await (await fetch(`${devMailUrl(service)}&to=${email}`)).json()) as { subject: string; text: string; links: string[] }[]
  assert.equal(mail?.subject, 'Welcome to Acme, Mia')
  assert.equal(mail?.text, `Hi Mia!\n${mail?.links[0]}\n`)
  const [name = ''] = readdirSync(join(folder, 'data', 'mail'))
  const raw = readFileSync(join(folder, 'data', 'mail', name), 'utf8')
  assert.match(raw, /^Content-Type: image\/png; name=logo\.png\r$/m)
  assert.match(raw, /bgcolor=3D"#0b7a5c"/)
})
