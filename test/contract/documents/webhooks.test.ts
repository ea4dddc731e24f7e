import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { writeWebhook } from '../../../src/delivery/webhooks/webhook.transport.ts'
import { WEBHOOK_TYPES } from '../../../src/model/webhook.ts'
import { member } from '../../support/app/actors.ts'
import { until } from '../../support/app/eventually.ts'
import { startApp } from '../../support/app/start-app.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { ROOT, read, rows } from '../../support/documents.ts'
import { statusBeforeBody } from '../../support/http/large-bodies.ts'
import { OPERATOR } from '../../support/http/origins.ts'
import { missingTool } from '../../support/processes/shell-page.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { openWebhooks, WEBHOOK_SECRET, webhookRows } from '../../support/servers/webhook-receiver.ts'

const PAGE = read('docs/webhooks.md')
const ANSWER_DEADLINE_MS = 60_000
const TOOLS: Readonly<Record<string, string>> = { js: process.execPath, python: 'python3' }

const PROGRAMS = [...PAGE.matchAll(/```(\w+) (receiver\.\w+)\n([\s\S]*?)```/g)].map(([, language = '', file = '', text = '']) => ({
  tool: TOOLS[language] ?? language,
  file,
  text,
}))

test('docs/webhooks.md lists every type, and no other', () => {
  assert.deepEqual(
    rows('docs/webhooks.md', 'Types').map(([type]) => type),
    WEBHOOK_TYPES,
  )
})

test('docs/webhooks.md has a receiver for each language', () => {
  assert.deepEqual(
    PROGRAMS.map(({ file }) => file),
    ['receiver.mjs', 'receiver.py'],
  )
})

/** Starts a receiver of the page on its own port. */
async function startProgram(t: TestContext, { tool, file, text }: (typeof PROGRAMS)[number]) {
  const folder = temporaryFolder(t)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, file), text.replaceAll('3002', String(port)))
  const env = { PATH: process.env['PATH'], WEBHOOK_SECRET }
  const child = spawn(tool, [file], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => child.kill('SIGKILL'))
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk))
  const send = async (headers: Readonly<Record<string, string>>, body: string) =>
    (await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(ANSWER_DEADLINE_MS) })).status
  await until('the receiver listens', () => send({}, '{}').then(Boolean, () => false))
  return { url, port, send, printed: () => printed }
}

for (const program of PROGRAMS) {
  const { tool, file } = program
  const missing = missingTool(tool)
  const skip = missing !== undefined && `${missing} is not installed: ${file} is not checked on this machine`

  test(`413: ${file} of docs/webhooks.md refuses a large body before it arrives, and a body without a length`, { skip }, async (t) => {
    const { url } = await startProgram(t, program)
    assert.equal(await statusBeforeBody(url), 413)
    assert.equal(await statusBeforeBody(url, 'endless'), 413)
    assert.equal(await statusBeforeBody(url, '-1'), file.endsWith('.py') ? 413 : 400)
  })

  test(`${file} of docs/webhooks.md answers while other clients wait, and after one has disconnected`, { skip }, async (t) => {
    const { port, send } = await startProgram(t, program)
    const [silent, waiting, gone] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
    t.after(() => [silent, waiting].map((socket) => socket.destroy()))
    for (const socket of [waiting, gone]) socket.write('POST / HTTP/1.1\r\nhost: receiver\r\ncontent-length: 100\r\n\r\n{')
    await Promise.all([silent, waiting, gone].map((socket) => socket.connecting && once(socket, 'connect')))
    gone.resetAndDestroy()
    for (let round = 0; round < 10; round++) assert.equal(await send({}, '{}'), 400)
  })

  test(`${file} of docs/webhooks.md accepts webhooks of the service once each, and refuses others`, { skip }, async (t) => {
    const { url, send, printed } = await startProgram(t, program)
    const service = await startApp(t, { env: { WEBHOOK_URL: url, WEBHOOK_SECRET } })
    const { webhooks, webhookLog } = openWebhooks(t, service)
    const mia = await member(service)
    await service.services.userAdministration.ban(OPERATOR, mia.id)
    await webhooks.drain()
    assert.deepEqual(webhookLog, [])
    assert.deepEqual(await webhookRows(service), [])
    const expected = `user.registered of user ${mia.id}\nuser.banned of user ${mia.id}\n`
    await until('both are printed', () => printed() === expected)

    const secrets = service.config.webhook?.secrets ?? []
    const event = { messageId: 'msg_again', type: 'key.leaked', userId: 7, keyId: 'k', occurredAt: 1 } as const
    const { headers, body } = writeWebhook(event, secrets, Date.now())
    const rotating = writeWebhook(event, [new TextEncoder().encode('another secret'), ...secrets], Date.now())
    const old = writeWebhook(event, secrets, Date.now() - 360_000)
    assert.equal(await send(headers, `${body} `), 400)
    assert.equal(await send({}, body), 400)
    assert.equal(await send(old.headers, old.body), 400)
    assert.equal(await send(headers, body), 204)
    assert.equal(await send(rotating.headers, rotating.body), 204)
    await until('the event is printed once', () => printed() === `${expected}key.leaked of user 7\n`)
  })
}
