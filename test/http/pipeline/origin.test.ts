import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { refusals } from '../../../src/http/answers/replies.ts'
import { Type } from '../../../src/http/validation/schema.ts'
import type { Origin } from '../../../src/model/caller.ts'
import { until } from '../../support/app/eventually.ts'
import { startSkeleton } from '../../support/http/http-app.ts'

/** A listening service whose writes wait until the test releases them. */
async function listening(t: TestContext) {
  const origins: Origin[] = []
  const held = Promise.withResolvers<void>()
  // A write that is still waiting would keep the process running until its deadline.
  t.after(() => held.resolve())
  const app = startSkeleton(t, (routes) => {
    const schema = { response: { 200: Type.Unknown(), ...refusals(503) } }
    routes.post('/write', { config: { access: 'public', writes: true }, schema }, async ({ origin }) => {
      origins.push(origin)
      await held.promise
      return {}
    })
    routes.get('/read', { config: { access: 'public', writes: false }, schema }, async ({ origin }) => {
      origins.push(origin)
      return {}
    })
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { origins, url, server: app.server, port: (app.server.address() as AddressInfo).port, release: held.resolve }
}

test('a client that disconnects aborts the signal of every write it waits for, pipelined ones too', async (t) => {
  const { origins, port, release } = await listening(t)
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write('POST /write HTTP/1.1\r\nHost: a.io\r\nContent-Length: 0\r\n\r\n'.repeat(3))
  await until('all three run', () => origins.length === 3)
  assert.deepEqual(
    origins.map(({ signal }) => signal?.aborted),
    [false, false, false],
  )
  socket.resetAndDestroy()
  await until('all three are aborted', () => origins.every(({ signal }) => signal?.aborted))
  for (const { via, ip, requestId } of origins) {
    assert.deepEqual([via, ip], ['http', '127.0.0.1'])
    assert.match(String(requestId), /^[\w-]+$/)
  }
  release()
})

test('a client that disconnects before its request is read has an address all the same', async (t) => {
  const { origins, port, server } = await listening(t)
  const accepted = once(server, 'connection')
  const socket = connect(port, '127.0.0.1')
  await Promise.all([accepted, once(socket, 'connect')])
  socket.write('POST /write HTTP/1.1\r\nHost: a.io\r\nContent-Length: 0\r\n\r\n')
  socket.resetAndDestroy()
  await until('it runs', () => origins.length === 1)
  assert.equal(origins[0]?.ip, '127.0.0.1')
})

test('a finished answer does not abort the signal', async (t) => {
  const { origins, url, release } = await listening(t)
  release()
  const response = await fetch(`${url}/write`, { method: 'POST', headers: { connection: 'close' } })
  assert.equal(response.status, 200)
  await response.text()
  assert.equal(origins[0]?.requestId, response.headers.get('x-request-id'))
  assert.equal(origins[0]?.signal?.aborted, false)
})

test('a route that does not write has an origin without a signal', async (t) => {
  const { origins, url } = await listening(t)
  const response = await fetch(`${url}/read`, { headers: { 'user-agent': 'a test', 'accept-language': 'de' } })
  await response.text()
  const requestId = response.headers.get('x-request-id')
  assert.deepEqual(origins, [{ via: 'http', requestId, ip: '127.0.0.1', userAgent: 'a test', acceptLanguage: 'de' }])
})
