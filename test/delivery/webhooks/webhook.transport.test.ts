import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createWebhookTransport, WebhookError } from '../../../src/delivery/webhooks/webhook.transport.ts'
import { until } from '../../support/app/eventually.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { startRawPeer } from '../../support/servers/listen.ts'
import { answering, startReceiver } from '../../support/servers/webhook-receiver.ts'

const MESSAGE = { headers: { 'content-type': 'application/json', 'webhook-id': 'msg_1' }, body: '{"type":"ü"}' }
const SHORT_MS = 1500
// In time for an answer, also on a busy machine.
const AMPLE_MS = 3000
const OK = 'HTTP/1.1 200 OK\r\n'

function transportTo(t: TestContext, url: string, deadlineMs?: number) {
  const transport = createWebhookTransport(url, deadlineMs)
  t.after(() => transport.close())
  return transport
}

/** A receiver that reads the request and then writes these bytes, and nothing more. */
async function rawReceiver(t: TestContext, onRequest: (socket: Socket) => void): Promise<string> {
  const { port } = await startRawPeer(t, (socket) => socket.once('data', () => onRequest(socket)))
  return `http://127.0.0.1:${port}/`
}

function failsWith(reason: string) {
  return (error: unknown) => {
    assert.ok(error instanceof WebhookError)
    assert.equal(error.message, reason)
    return true
  }
}

test('the request arrives whole, with the path and query of the URL', async (t) => {
  const receiver = await startReceiver(t)
  assert.equal(await transportTo(t, receiver.url).post(MESSAGE), 204)
  const [{ headers, text } = assert.fail('nothing arrived')] = receiver.received
  assert.equal(text, MESSAGE.body)
  assert.deepEqual([headers['webhook-id'], headers['content-length']], ['msg_1', '13'])
})

test('a receiver that is down, unknown or no web server is an error with a reason, and without the address', async (t) => {
  const port = await freePort()
  await assert.rejects(transportTo(t, `http://127.0.0.1:${port}/`).post(MESSAGE), failsWith('no answer: ECONNREFUSED'))
  await assert.rejects(transportTo(t, 'http://receiver.invalid/').post(MESSAGE), /^WebhookError: no answer: (ENOTFOUND|EAI_AGAIN)$/)
  const noise = await rawReceiver(t, (socket) => void socket.end('220 mail.example ESMTP\r\n'))
  await assert.rejects(transportTo(t, noise).post(MESSAGE), /^WebhookError: no answer: HPE_INVALID_CONSTANT$/)
  const closing = await rawReceiver(t, (socket) => void socket.destroy())
  await assert.rejects(transportTo(t, closing).post(MESSAGE), failsWith('no answer: ECONNRESET'))
})

test('a receiver that does not answer in time is disconnected: silent, half a header, and one byte at a time', async (t) => {
  const closed: string[] = []
  const behaviours: Readonly<Record<string, (socket: Socket) => void>> = {
    silent: () => undefined,
    'half a header': (socket) => void socket.write(`${OK}content-le`),
    'one byte at a time': (socket) => {
      const bytes = `${OK}x-slow: ${'y'.repeat(1000)}`
      let sent = 0
      const timer = setInterval(() => socket.write(bytes.charAt(sent++)), 10)
      socket.on('close', () => clearInterval(timer))
    },
  }
  for (const [name, behave] of Object.entries(behaviours)) {
    const url = await rawReceiver(t, (socket) => {
      socket.on('close', () => closed.push(name))
      behave(socket)
    })
    await assert.rejects(transportTo(t, url, SHORT_MS).post(MESSAGE), failsWith('no answer within 1.5 seconds'))
  }
  await until('every receiver is disconnected', () => closed.length === 3)
})

test('without another value, a receiver has 15 seconds to answer', async (t) => {
  const connected = Promise.withResolvers<void>()
  const url = await rawReceiver(t, () => connected.resolve())
  const transport = transportTo(t, url)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let isSettled = false
  const attempt = assert.rejects(transport.post(MESSAGE), failsWith('no answer within 15 seconds')).finally(() => {
    isSettled = true
  })
  await connected.promise
  t.mock.timers.tick(14_999)
  await setImmediate()
  assert.equal(isSettled, false)
  t.mock.timers.tick(1)
  await attempt
})

test('a status counts as soon as it arrives: a response that never ends, or never stops, is cut off', async (t) => {
  const closed: string[] = []
  const hanging = await rawReceiver(t, (socket) => {
    socket.on('close', () => closed.push('hanging'))
    socket.write(`${OK}content-length: 10\r\n\r\nhalf`)
  })
  assert.equal(await transportTo(t, hanging, AMPLE_MS).post(MESSAGE), 200)
  const endless = await rawReceiver(t, (socket) => {
    socket.on('close', () => closed.push('endless'))
    socket.write(`${OK}transfer-encoding: chunked\r\n\r\n`)
    const pour = () => {
      while (!socket.destroyed && socket.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`));
    }
    socket.on('drain', pour)
    pour()
  })
  assert.equal(await transportTo(t, endless).post(MESSAGE), 200)
  await until('both are disconnected', () => closed.length === 2)
})

test('a redirect is an answer like any other, and is not followed', async (t) => {
  const elsewhere = await startReceiver(t)
  const receiver = await startReceiver(t)
  for (const status of [301, 302, 303, 307, 308]) {
    receiver.answer = answering(status, { location: elsewhere.url })
    assert.equal(await transportTo(t, receiver.url).post(MESSAGE), status)
  }
  assert.equal(elsewhere.received.length, 0)
})

test('connections are kept, and one that the receiver closed meanwhile is replaced without a failed attempt', async (t) => {
  const receiver = await startReceiver(t)
  const transport = transportTo(t, receiver.url)
  for (let count = 0; count < 5; count++) assert.equal(await transport.post(MESSAGE), 204)
  assert.equal(receiver.connections(), 1)

  // Answers the first request of each connection, and closes the connection when the second one arrives.
  let connections = 0
  const { port } = await startRawPeer(t, (socket) => {
    connections++
    let requests = 0
    socket.on('data', () => {
      if (++requests === 1) socket.write('HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\n\r\n')
      else socket.resetAndDestroy()
    })
  })
  const stale = transportTo(t, `http://127.0.0.1:${port}/`)
  for (let count = 0; count < 3; count++) assert.equal(await stale.post(MESSAGE), 204)
  assert.equal(connections, 3)
})

test('proxies of the environment are not used', async (t) => {
  const proxy = await startReceiver(t)
  const receiver = await startReceiver(t)
  const names = ['HTTP_PROXY', 'http_proxy', 'NODE_USE_ENV_PROXY'] as const
  const before = names.map((name) => process.env[name])
  t.after(() => {
    for (const [index, name] of names.entries()) {
      const value = before[index]
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${proxy.port}`
  assert.equal(await transportTo(t, receiver.url).post(MESSAGE), 204)
  assert.deepEqual([proxy.received.length, receiver.received.length], [0, 1])
})

test('closing aborts the attempts in progress', async (t) => {
  const arrived = Promise.withResolvers<void>()
  const url = await rawReceiver(t, () => arrived.resolve())
  const transport = createWebhookTransport(url)
  const attempt = transport.post(MESSAGE)
  const rejected = assert.rejects(attempt, failsWith('the attempt was aborted'))
  await arrived.promise
  await transport.close()
  await rejected
})
