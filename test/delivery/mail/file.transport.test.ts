import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFileTransport } from '../../../src/delivery/mail/file.transport.ts'
import { MailError, type MailMessage } from '../../../src/delivery/mail/transport.ts'
import { readMail } from '../../support/app/mailbox.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { fetchPatiently } from '../../support/http/patience.ts'
import { newEmail, PASSWORD } from '../../support/http/requests.ts'
import { startProcess, untilPrinted } from '../../support/processes/service-process.ts'

const LINK = 'https://id.example.com/verify/?code=a.b.c'

function message(to: string): MailMessage {
  return {
    messageId: '<1@example.com>',
    date: new Date(Date.UTC(2026, 0, 2, 3, 4, 5)),
    from: { name: 'Latchkey', address: 'noreply@example.com' },
    to,
    subject: 'Verify',
    text: `Hello\n\n${LINK}\n`,
    html: `<a href="${LINK}">Verify</a>`,
    purpose: 'verify your address',
    link: LINK,
  }
}

function openFiles(t: TestContext) {
  const folder = join(temporaryFolder(t), 'data', 'mail')
  const printed: string[] = []
  return { folder, printed, transport: createFileTransport(folder, (line) => void printed.push(line)) }
}

test('a mail is written to a file that only its owner can read, and its link is printed', async (t) => {
  const { folder, printed, transport } = openFiles(t)
  await transport.send(message('mia@example.com'))
  const [name = '', ...others] = readdirSync(folder)
  assert.deepEqual(others, [], 'no draft is left')
  assert.match(name, /^2026-01-02T03-04-05\.000Z-000001-mia@example\.com-[0-9a-f]{8}\.eml$/)
  assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
  assert.equal((await readMail(readFileSync(join(folder, name)))).link, LINK)
  assert.deepEqual(printed, [`Mail to mia@example.com: verify your address: ${LINK}`])
})

test('an address cannot lead out of the folder', async (t) => {
  const { folder, transport } = openFiles(t)
  await transport.send(message('/../../../evil|$(x)@example.com'))
  assert.deepEqual(
    readdirSync(folder).map((name) => name.replace(/^.*000001-|-[0-9a-f]{8}\.eml$/g, '')),
    ['_.._.._.._evil___x_@example.com'],
  )
})

test('if the folder is not writable, the mail waits and no link is printed', async (t) => {
  const folder = join(temporaryFolder(t), 'mail')
  writeFileSync(folder, 'not a folder')
  const printed: string[] = []
  const transport = createFileTransport(folder, (line) => void printed.push(line))
  await assert.rejects(transport.send(message('mia@example.com')), (error) => error instanceof MailError && error.scope === 'server')
  assert.deepEqual(printed, [])
})

test('without SMTP_URL the service keeps mails under data/mail/ and prints a link that verifies the account', async (t) => {
  const folder = temporaryFolder(t)
  const service = await startProcess(t, {}, folder)
  const email = newEmail()
  const body = JSON.stringify({ email, password: PASSWORD, first_name: 'Mia', last_name: 'Muster' })
  await fetchPatiently(`${service.url}/register/`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const line = await untilPrinted(service, new RegExp(`Mail to ${email}: verify your address: \\S+`))
  const { search } = new URL(line.slice(line.lastIndexOf('http')))
  assert.equal((await fetch(`${service.url}/verify/${search}`)).status, 200)
  assert.equal(readdirSync(join(folder, 'data', 'mail')).length, 1)
})
