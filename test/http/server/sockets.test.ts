import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text as readAll } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { Type } from 'typebox'
import { ANSWERS, type ErrorCode } from '../../../src/http/answers/answers.ts'
import { sendList } from '../../../src/http/answers/serialize.ts'
import { SECURITY_HEADERS } from '../../../src/http/pipeline/headers.ts'
import type { ServerLimits } from '../../../src/http/server.ts'
import { until } from '../../support/app/eventually.ts'
import { startApp } from '../../support/app/start-app.ts'
import { startSkeleton } from '../../support/http/http-app.ts'

type Answer = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }

const HOST = 'Host: a.io\r\n'
const CHUNKED_BODY = '7\r\n{"a":1}\r\n0\r\n\r\n'
// More than the operating system buffers for a client that does not read.
const LARGE = Buffer.alloc(64 * 1024 * 1024, 'x')
const SMUGGLED = `GET /smuggled HTTP/1.1\r\n${HOST}\r\n`

/** A listening service with one route for each purpose. It records every request that it runs. */
async function listening(t: TestContext, limits: Partial<ServerLimits> = {}) {
  const ran: string[] = []
  const held = Promise.withResolvers<void>()
  const app = startSkeleton(
    t,
    (routes) => {
      const schema = { response: { 200: Type.Unknown() } }
      const config = { access: 'public', writes: false } as const
      for (const path of ['/first', '/smuggled']) routes.get(path, { config, schema }, async () => ({ ran: ran.push(path) }))
      routes.get('/slow', { config, schema }, async () => {
        ran.push('/slow')
        await held.promise
        return { slow: true }
      })
      routes.get('/large', { config, schema }, async (_request, reply) => reply.type('text/plain').send(LARGE) as never)
      routes.get('/endless', { config, schema }, async (_request, reply) => sendList(reply, endlessPages(ran), (text) => ({ text })))
      routes.post('/first', { config, schema: { ...schema, body: Type.Object({}) } }, async () => ({ ran: ran.push('POST /first') }))
    },
    { limits },
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const untilRun = () => until('a handler runs', () => ran.length > 0)
  const connections = () => new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)))
  return { port, ran, release: held.resolve, untilRun, connections }
}

/** Records when its reader has disconnected. */
async function* endlessPages(ran: string[]): AsyncGenerator<string[]> {
  try {
    for (;;) yield ['x'.repeat(100_000)]
  } finally {
    ran.push('the list has ended')
  }
}

/** Sends bytes and reads until the service closes the connection. */
async function talk(port: number, ...parts: (string | Promise<string>)[]): Promise<Answer[]> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const received = readAll(socket)
  for (const part of parts) socket.write(await part)
  return parseAnswers(await received)
}

function parseAnswers(text: string): Answer[] {
  const answers: Answer[] = []
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
    )
    const length = Number(headers['content-length'] ?? 0)
    answers.push({ status: Number(statusLine.split(' ')[1]), headers, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
  return answers
}

function refusedOnly(answers: readonly Answer[], code: ErrorCode): void {
  const { status, detail } = ANSWERS[code]
  assert.deepEqual(
    answers.map((answer) => ({ status: answer.status, body: answer.body })),
    [{ status, body: JSON.stringify({ detail }) }],
  )
  const { headers = {} } = answers[0] ?? {}
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) assert.equal(headers[name], value)
  assert.equal(headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(headers['connection'], 'close')
  assert.equal(headers['x-error-code'], code)
}

const AMBIGUOUS: Readonly<Record<string, string>> = {
  'no Host': `GET /first HTTP/1.1\r\n\r\n${SMUGGLED}`,
  'two Hosts': `GET /first HTTP/1.1\r\n${HOST}Host: b.io\r\n\r\n${SMUGGLED}`,
  'the same Host twice': `GET /first HTTP/1.1\r\n${HOST}hOST: a.io\r\n\r\n${SMUGGLED}`,
  'two Hosts in HTTP/1.0': `GET /first HTTP/1.0\r\n${HOST}Host: b.io\r\nConnection: keep-alive\r\n\r\n${SMUGGLED}`,
  'an unknown transfer encoding': `POST /first HTTP/1.1\r\n${HOST}Transfer-Encoding: xchunked\r\n\r\n${SMUGGLED}`,
  'an unknown transfer encoding with a length': `POST /first HTTP/1.1\r\n${HOST}Content-Length: 4\r\nTransfer-Encoding: xchunked\r\n\r\n5c\r\n${SMUGGLED}`,
  'chunked, then identity': `POST /first HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked, identity\r\n\r\n${CHUNKED_BODY}${SMUGGLED}`,
  'gzip, then chunked': `POST /first HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n${CHUNKED_BODY}${SMUGGLED}`,
  'chunked twice': `POST /first HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED_BODY}${SMUGGLED}`,
  identity: `POST /first HTTP/1.1\r\n${HOST}Transfer-Encoding: identity\r\n\r\n${SMUGGLED}`,
  'an empty transfer encoding': `POST /first HTTP/1.1\r\n${HOST}Transfer-Encoding:\r\n\r\n${CHUNKED_BODY}${SMUGGLED}`,
  'a length and chunks': `POST /first HTTP/1.1\r\n${HOST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED_BODY}${SMUGGLED}`,
  'chunks and a length': `POST /first HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${CHUNKED_BODY}${SMUGGLED}`,
  'two lengths': `POST /first HTTP/1.1\r\n${HOST}Content-Length: 4\r\nContent-Length: 5\r\n\r\n{"a"}${SMUGGLED}`,
  'a length with a sign': `POST /first HTTP/1.1\r\n${HOST}Content-Length: +4\r\n\r\n{"a"${SMUGGLED}`,
  'a space before a colon': `POST /first HTTP/1.1\r\n${HOST}Content-Length : 4\r\n\r\n{"a"${SMUGGLED}`,
  'a folded header': `GET /first HTTP/1.1\r\n${HOST}X: a\r\n b\r\n\r\n${SMUGGLED}`,
  'bare line feeds': `GET /first HTTP/1.1\n${HOST.replace('\r', '')}\n${SMUGGLED}`,
  'a bad request line': `HELLO\r\n\r\n${SMUGGLED}`,
  'an unknown method': `BREW /first HTTP/1.1\r\n${HOST}\r\n${SMUGGLED}`,
  'a space in the path': `GET /fi rst HTTP/1.1\r\n${HOST}\r\n${SMUGGLED}`,
  'another protocol': `GET /first HTTP/3.0\r\n${HOST}\r\n${SMUGGLED}`,
  'a NUL in a header': `GET /first HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n${SMUGGLED}`,
  'chunks in HTTP/1.0': `POST /first HTTP/1.0\r\n${HOST}Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED_BODY}${SMUGGLED}`,
  'a fragment': `GET /first#x HTTP/1.1\r\n${HOST}\r\n${SMUGGLED}`,
  'a fragment after a query': `GET /first?x=1#x HTTP/1.1\r\n${HOST}\r\n${SMUGGLED}`,
  'a fragment in an absolute URL': `GET http://a.io/first#x HTTP/1.1\r\n${HOST}\r\n${SMUGGLED}`,
  'a backslash in the path': `GET /api/v1\\first HTTP/1.1\r\n${HOST}\r\n${SMUGGLED}`,
  CONNECT: `CONNECT a.io:443 HTTP/1.1\r\n${HOST}\r\n${SMUGGLED}`,
}

for (const [name, bytes] of Object.entries(AMBIGUOUS)) {
  test(`400: ${name}: neither it nor anything after it runs, and the connection is closed`, async (t) => {
    const { port, ran } = await listening(t)
    refusedOnly(await talk(port, bytes), 'bad_request')
    assert.deepEqual(ran, [])
  })
}

test('a client that resets the connection at the worst moment does not affect other connections', async (t) => {
  const { port } = await listening(t)
  for (const bytes of [...Object.values(AMBIGUOUS), `GET /first HTTP/1.1\r\n${HOST}Expect: nonsense\r\n\r\n`]) {
    for (let count = 0; count < 5; count++) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      socket.write(bytes, () => socket.resetAndDestroy())
      await once(socket, 'close')
    }
  }
  const [answer] = await talk(port, `GET /first HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)
  assert.equal(answer?.status, 200)
})

test('200: one Host header, and chunked encoding in any case, are not ambiguous', async (t) => {
  const { port } = await listening(t)
  const chunked = `POST /first HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: Chunked\r\n\r\n${CHUNKED_BODY}`
  const answers = await talk(port, chunked, `GET /first HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  )
})

test('200: characters that browsers do not encode in a query are not ambiguous', async (t) => {
  const { port, ran } = await listening(t)
  const [answer] = await talk(port, `GET /first?x=a|b^c\`{}\\[]' HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)
  assert.deepEqual([answer?.status, ran], [200, ['/first']])
})

test('200: HTTP/1.0 needs no Host', async (t) => {
  const { port } = await listening(t)
  const [answer] = await talk(port, 'GET /first HTTP/1.0\r\n\r\n')
  assert.deepEqual([answer?.status, answer?.body], [200, '{"ran":1}'])
})

test('400: a refusal is sent after the response to the previous request on the same connection', async (t) => {
  const { port, release, untilRun } = await listening(t)
  const talking = talk(
    port,
    `GET /slow HTTP/1.1\r\n${HOST}\r\n`,
    untilRun().then(() => `GET /first HTTP/1.1\r\n${HOST}${HOST}\r\n`),
  )
  await untilRun()
  setTimeout(release, 50)
  const answers = await talking
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body]),
    [
      [200, '{"slow":true}'],
      [400, '{"detail":"Bad Request"}'],
    ],
  )
})

test('the answer to garbage after a request is never mistaken for the response to that request', async (t) => {
  const { port, ran, untilRun } = await listening(t)
  const answers = await talk(
    port,
    `GET /slow HTTP/1.1\r\n${HOST}\r\n`,
    untilRun().then(() => 'HELLO\r\n\r\n'),
  )
  assert.deepEqual([answers, ran], [[], ['/slow']])
})

test('431: headers that are too large', async (t) => {
  const { port, ran } = await listening(t)
  refusedOnly(await talk(port, `GET /first HTTP/1.1\r\n${HOST}X: ${'x'.repeat(20_000)}\r\n\r\n`), 'headers_too_large')
  refusedOnly(await talk(port, `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`), 'headers_too_large')
  assert.deepEqual(ran, [])
})

test('413: chunk extensions that are too large', async (t) => {
  const { port, ran } = await listening(t)
  const head = `POST /first HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
  refusedOnly(await talk(port, `${head}2;x=${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`), 'body_too_large')
  assert.deepEqual(ran, [])
})

test('408: headers that do not arrive', async (t) => {
  const { port, ran } = await listening(t, { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 })
  refusedOnly(await talk(port, 'GET /first HTTP/1.1\r\nHost: a'), 'request_timeout')
  assert.deepEqual(ran, [])
})

test('408: a body that does not arrive', async (t) => {
  const { port, ran } = await listening(t, { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 })
  const head = `POST /first HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n`
  refusedOnly(await talk(port, `${head}{"a"`), 'request_timeout')
  assert.deepEqual(ran, [])
})

test('417: an unknown expectation', async (t) => {
  const { port, ran } = await listening(t)
  const bytes = `POST /first HTTP/1.1\r\n${HOST}Expect: a miracle\r\nContent-Length: 2\r\n\r\n{}${SMUGGLED}`
  refusedOnly(await talk(port, bytes), 'expectation_failed')
  assert.deepEqual(ran, [])
})

test('404: an asterisk is not a path, and of an absolute URL only the path counts', async (t) => {
  const { port, ran } = await listening(t)
  const closing = `${HOST}Connection: close\r\n\r\n`
  const [asterisk] = await talk(port, `OPTIONS * HTTP/1.1\r\n${closing}`)
  assert.deepEqual([asterisk?.status, asterisk?.body], [404, '{"detail":"Not Found"}'])
  assert.equal(asterisk?.headers['x-error-code'], 'path_not_found')
  for (const target of ['*first', '*first/', '*/first', '*api/v1/first', 'http://other.io?first', 'http://other.io?api/v1/first']) {
    const [other] = await talk(port, `GET ${target} HTTP/1.1\r\n${closing}`)
    assert.deepEqual([other?.status, ran], [404, []], target)
  }
  const [absolute] = await talk(port, `GET http://other.io/api/v1/first HTTP/1.1\r\n${closing}`)
  assert.deepEqual([absolute?.status, ran], [200, ['/first']])
})

test('a client that disconnects at any point does not affect other clients', async (t) => {
  const { port } = await listening(t)
  for (const bytes of ['', 'GET', `POST /first HTTP/1.1\r\n${HOST}Content-Length: 9\r\n\r\n{`, `GET /slow HTTP/1.1\r\n${HOST}\r\n`]) {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(bytes)
    socket.resetAndDestroy()
    await once(socket, 'close')
  }
  const [answer] = await talk(port, `GET /first HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)
  assert.equal(answer?.status, 200)
})

test('a client that disconnects while sending its body is not an error of the service, neither in the log nor in the metrics', async (t) => {
  const { app, logged } = await startApp(t, { env: { METRICS_ENABLED: 'true' } })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const counted = async (status: string) => {
    const { body } = await app.inject('/metrics')
    return Number(new RegExp(`requests_total{handler="/login/",method="POST",status="${status}"} (\\d+)`).exec(body)?.[1] ?? 0)
  }
  for (let count = 1; count <= 10; count++) {
    const socket = connect(port, '127.0.0.1')
    const asked = once(app.server, 'request')
    socket.write(`POST /login/ HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{"em`)
    await asked
    if (count % 2 === 0) socket.resetAndDestroy()
    else socket.destroy()
    await until('it is counted', async () => (await counted('4xx')) === count)
  }
  assert.deepEqual([logged, await counted('5xx')], [[], 0])
})

test('32 pipelined requests may wait for their responses, repeatedly', async (t) => {
  const { port, ran } = await listening(t)
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  let received = ''
  socket.setEncoding('latin1').on('data', (text) => (received += text))
  for (let round = 1; round <= 20; round++) {
    socket.write(`GET /first HTTP/1.1\r\n${HOST}\r\n`.repeat(32))
    await until('all are answered', () => received.includes(`{"ran":${round * 32}}`))
  }
  assert.equal(ran.length, 640)
  const answers = parseAnswers(received)
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body]),
    ran.map((_, index) => [200, `{"ran":${index + 1}}`]),
  )
})

for (const path of ['/first', '/slow']) {
  test(`a connection that pipelines thousands of requests is closed, and only 32 of them run: ${path}`, async (t) => {
    const { port, ran, connections } = await listening(t)
    const requests = `GET ${path} HTTP/1.1\r\n${HOST}\r\n`.repeat(2000)
    const sockets = Array.from({ length: 8 }, () => connect(port, '127.0.0.1'))
    for (const socket of sockets) {
      t.after(() => socket.destroy())
      // The client never reads its answers.
      socket.on('error', () => undefined).pause()
      socket.write(requests)
    }
    await until('all of them are closed', async () => ran.length >= 8 * 32 && (await connections()) === 0)
    assert.equal(ran.length, 8 * 32)
    const [answer] = await talk(port, `GET /first HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)
    assert.deepEqual([answer?.status, ran.length], [200, 8 * 32 + 1])
  })
}

const IMPATIENT = { stallTimeout: 500, connectionsCheckingInterval: 20 }

test('a client that does not read its response is disconnected, also during a list, which then stops', async (t) => {
  const { port, ran, connections } = await listening(t, IMPATIENT)
  for (const path of ['/large', '/endless']) {
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.on('error', () => undefined).pause()
    socket.write(`GET ${path} HTTP/1.1\r\n${HOST}\r\n`)
    await until('it is connected', async () => (await connections()) === 1)
    // Bytes that make no request must not keep the connection open.
    const timer = setInterval(() => socket.write('\r\n'), 50)
    await until('it is closed', async () => (await connections()) === 0)
    clearInterval(timer)
  }
  await until('the list has ended', () => ran.includes('the list has ended'))
})

test('a client that reads slowly, or is idle after its response, stays connected', async (t) => {
  const { port, connections } = await listening(t, IMPATIENT)
  const idle = connect(port, '127.0.0.1')
  t.after(() => idle.destroy())
  idle.write(`GET /first HTTP/1.1\r\n${HOST}\r\n`)
  await once(idle, 'data')
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET /large HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)
  let received = 0
  let allowed = 0
  socket.on('data', (bytes) => {
    received += bytes.length
    if (received >= allowed) socket.pause()
  })
  const startedAt = performance.now()
  // The client shares the event loop with the service, so a busy machine slows both.
  const timer = setInterval(() => {
    allowed += LARGE.length / 64
    socket.resume()
  }, 20)
  t.after(() => clearInterval(timer))
  await once(socket, 'close')
  assert.ok(received > LARGE.length, 'all of it arrives')
  assert.ok(performance.now() - startedAt > 2 * IMPATIENT.stallTimeout)
  await until('only the idle client is connected', async () => (await connections()) === 1)
  assert.equal(idle.destroyed, false)
})
