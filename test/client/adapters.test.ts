import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { createOfflineVerifier, LatchkeyError } from '../../packages/client/src/index.ts'
import { latchkey as forExpress } from '../../packages/client/src/middleware/express.ts'
import { latchkey as forFastify } from '../../packages/client/src/middleware/fastify.ts'
import type { GuardOptions } from '../../packages/client/src/middleware/guard.ts'
import { latchkey as forHono } from '../../packages/client/src/middleware/hono.ts'
import { admin, keyHolder, member } from '../support/app/actors.ts'
import { startListening } from '../support/client/listening.ts'
import { serve } from '../support/servers/listen.ts'
import { issueToken } from '../support/servers/offline-verifier.ts'

/** Sends a GET request. Returns the status, the text and the headers that matter. */
type Get = (headers: Readonly<Record<string, string>>) => Promise<{ status: number; text: string; headers: Headers }>

async function listen(t: TestContext, listener: RequestListener): Promise<Get> {
  const { url } = await serve(t, listener)
  return get((headers) => fetch(`${url}/notes`, { headers }))
}

function get(send: (headers: Readonly<Record<string, string>>) => Response | Promise<Response>): Get {
  return async (headers) => {
    const response = await send(headers)
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
}

/** A service with one route, GET /notes, which returns the id of its caller. Counts how often the route is reached. */
const FRAMEWORKS: Record<string, (t: TestContext, options: GuardOptions, reached: () => void) => Promise<Get>> = {
  async Express(t, options, reached) {
    const app = express()
    app.get('/notes', forExpress(options), (request, response) => {
      reached()
      response.send(`user ${request.identity.userId}`)
    })
    return listen(t, app)
  },
  async Fastify(t, options, reached) {
    const app = fastify()
    app.get('/notes', { onRequest: forFastify(options) }, async (request) => {
      reached()
      return `user ${request.identity.userId}`
    })
    await app.listen({ host: '127.0.0.1', port: 0 })
    t.after(() => app.close())
    const { port } = app.server.address() as AddressInfo
    return get((headers) => fetch(`http://127.0.0.1:${port}/notes`, { headers }))
  },
  async Hono(_t, options, reached) {
    const app = new Hono()
    app.get('/notes', forHono(options), (c) => {
      reached()
      return c.text(`user ${c.get('identity').userId}`)
    })
    return get((headers) => app.request('/notes', { headers }))
  },
}

for (const [name, start] of Object.entries(FRAMEWORKS)) {
  test(`${name}: the route is reached by those whom Latchkey lets in, and knows who they are`, async (t) => {
    const service = await startListening(t)
    const mia = await member(service)
    const boss = await admin(service)
    const reader = await keyHolder(service, mia, { scopes: ['notes:read'] })
    const writer = await keyHolder(service, mia, { scopes: ['notes:write'] })
    let reached = 0
    const send = await start(t, { url: service.url, scope: 'notes:read' }, () => reached++)
    const refused = async (headers: Readonly<Record<string, string>>) => {
      const { status, text, headers: answered } = await send(headers)
      return [status, JSON.parse(text), answered.get('x-error-code'), answered.get('www-authenticate'), answered.get('retry-after')]
    }
    const invalid = 'Bearer error="invalid_token"'
    const anonymous = { detail: 'Not authenticated. Use either JWT token or API key.' }
    assert.deepEqual(await refused({}), [401, anonymous, 'not_authenticated', 'Bearer', null])
    assert.deepEqual(await refused({ 'x-api-key': 'unknown' }), [401, { detail: 'Invalid API key' }, 'key_invalid', invalid, null])
    assert.deepEqual(await refused(writer.headers), [403, { detail: 'Not enough permissions' }, 'not_permitted', null, null])
    assert.equal(reached, 0)
    for (const headers of [reader.headers, mia.headers]) assert.equal((await send(headers)).text, `user ${mia.id}`)
    assert.equal(reached, 2)
    await service.app.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: boss.headers })
    assert.deepEqual(await refused(mia.headers), [401, { detail: 'That token is Invalid' }, 'token_invalid', invalid, null])
    await service.app.close()
    assert.deepEqual(await refused(boss.headers), [503, { detail: 'Service Unavailable' }, 'unavailable', null, '2'])
    assert.equal(reached, 2)
  })

  test(`${name}: a role can be required, and another verifier used`, async (t) => {
    const service = await startListening(t)
    const boss = await admin(service)
    const mia = await member(service)
    const verifier = createOfflineVerifier({ url: service.url, audience: 'reports', now: service.clock.now })
    const send = await start(t, { verifier, role: 'admin' }, () => undefined)
    const statusOf = async (token: string) => (await send({ authorization: `Bearer ${token}` })).status
    assert.equal(await statusOf(await issueToken(service.app, boss)), 200)
    assert.equal(await statusOf(await issueToken(service.app, mia)), 403)
    assert.equal(await statusOf(boss.token), 401)
  })

  test(`${name}: an error in the verifier itself lets nobody in`, async (t) => {
    let reached = 0
    const verifier = { verify: () => Promise.reject(new Error('a bug')) }
    const send = await start(t, { verifier }, () => reached++)
    // Express and Hono print such an error.
    t.mock.method(console, 'error', () => undefined)
    assert.equal((await send({ 'x-api-key': 'any' })).status, 500)
    assert.equal(reached, 0)
  })
}

test('Express: a request that was answered while Latchkey was asked is left as it is', async (t) => {
  const failures: unknown[] = []
  const note = (error: unknown) => void failures.push(error)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  // Latchkey hangs until the service has given up.
  let refuse = () => {}
  const asked = new Promise<void>((resolve) => {
    refuse = resolve
  })
  const verifier = {
    verify: () => asked.then(() => Promise.reject(new LatchkeyError({ code: 'unavailable', status: 503, message: 'Service Unavailable' }))),
  }
  const app = express()
  app.use((_request, response, next) => {
    next()
    response.status(504).send('too late')
  })
  app.get('/notes', forExpress({ verifier }), (_request, response) => void response.send('reached'))
  const send = await listen(t, app)
  const { status, text } = await send({ authorization: 'Bearer token' })
  refuse()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([status, text, failures], [504, 'too late', []])
})
