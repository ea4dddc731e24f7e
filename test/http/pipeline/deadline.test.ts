import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { test as nodeTest, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LightMyRequestResponse } from 'fastify'
import { Type } from 'typebox'
import { Empty, refusals } from '../../../src/http/answers/replies.ts'
import { sendList } from '../../../src/http/answers/serialize.ts'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import type { User } from '../../../src/model/user.ts'
import { createPasswords, type Passwords } from '../../../src/security/password.ts'
import { refused } from '../../support/app/assertions.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { type SkeletonOptions, startSkeleton } from '../../support/http/http-app.ts'
import { OPERATOR } from '../../support/http/origins.ts'
import { register } from '../../support/http/requests.ts'

const LIMIT_MS = 400
const PUBLIC = { access: 'public', writes: false } as const
const WRITES = { access: 'public', writes: true } as const
const MAY_WAIT = { 200: Type.Unknown(), ...refusals(403, 413, 503) }
const NEVER = new Promise<never>(() => undefined)

/** An app with a short deadline, the given routes, and /never, which never responds. */
function startLimited(t: TestContext, addRoutes: (app: App) => void, options: SkeletonOptions = {}): App {
  const addAll = (app: App) => {
    app.get('/never', { config: PUBLIC, schema: { response: MAY_WAIT } }, () => NEVER)
    addRoutes(app)
  }
  return startSkeleton(t, addAll, { answerWithinMs: LIMIT_MS, ...options })
}

nodeTest('503: work that misses the deadline is aborted, and its later outcome is ignored', async (t) => {
  const { promise: ended, resolve } = Promise.withResolvers<boolean>()
  const app = startLimited(t, (routes) => {
    routes.post('/work', { config: WRITES, schema: { response: { 204: Empty, ...refusals(413, 503) } } }, async (request, reply) => {
      await once(request.origin.signal ?? assert.fail(), 'abort')
      await nextTurn()
      resolve(reply.sent)
      return reply.code(204).send()
    })
  })
  // Over a real connection: with inject, a finished response looks like a client that has disconnected.
  const response = await fetch(`${await app.listen({ port: 0, host: '127.0.0.1' })}/work`, { method: 'POST' })
  assert.deepEqual([response.status, await response.json()], [503, { detail: 'Service Unavailable' }])
  assert.equal(response.headers.get('retry-after'), '2')
  assert.equal(await ended, true, 'the answer did not wait for it')
})

nodeTest('503: the time to identify the caller counts', async (t) => {
  const answered: string[] = []
  const note = (name: string) => (response: LightMyRequestResponse) => {
    answered.push(name)
    return response
  }
  // Begins with the handler, whose deadline would come later than this one if the caller had taken no time.
  const half = startLimited(t, () => undefined, { answerWithinMs: LIMIT_MS / 2 })
  let inHalfTheTime: Promise<unknown> | undefined
  const authentication = {
    byToken: () => NEVER,
    byPageToken: () => NEVER,
    // As long as the whole limit.
    async byKey() {
      refused(await app.inject('/never'), 503, 'Service Unavailable')
      return {
        user: {} as User,
        sessionId: undefined,
        key: undefined,
        expiresAt: undefined,
        hasFactor: false,
        secondFactor: false,
        confirmedAt: undefined,
      }
    },
  }
  const app = startLimited(
    t,
    (routes) =>
      void routes.get(
        '/guarded',
        { config: { access: 'user', acceptedKeys: 'read', writes: false }, schema: { response: MAY_WAIT } },
        () => {
          inHalfTheTime = half.inject('/never').then(note('half the time'))
          return NEVER
        },
      ),
    { authentication },
  )
  refused(await app.inject({ url: '/guarded', headers: { 'x-api-key': 'any' } }).then(note('no time')), 503, 'Service Unavailable')
  await inHalfTheTime
  assert.deepEqual(answered, ['no time', 'half the time'], 'no time was left for the handler')
})

nodeTest('503: a list that has not started; 200: one that has started is sent completely', async (t) => {
  const app = startLimited(t, (routes) => {
    async function* pages(): AsyncIterable<number[]> {
      yield [1]
      refused(await app.inject('/never'), 503, 'Service Unavailable')
      yield [2]
    }
    async function* silence(): AsyncIterable<number[]> {
      yield await NEVER
    }
    routes.get('/begun', { config: PUBLIC, schema: { response: MAY_WAIT } }, (_request, reply) =>
      sendList(reply, pages(), (item) => ({ item })),
    )
    routes.get('/silent', { config: PUBLIC, schema: { response: MAY_WAIT } }, (_request, reply) =>
      sendList(reply, silence(), (item) => ({ item })),
    )
  })
  const [begun, silent] = await Promise.all([app.inject('/begun'), app.inject('/silent')])
  assert.deepEqual([begun.statusCode, begun.json()], [200, [{ item: 1 }, { item: 2 }]])
  refused(silent, 503, 'Service Unavailable')
})

nodeTest('200: a route that needs neither the database nor a hash has no deadline', async (t) => {
  const app = startLimited(t, (routes) => {
    routes.get('/page', { config: PUBLIC, schema: { response: { 200: Type.Unknown(), ...refusals() } } }, async () => {
      refused(await app.inject('/never'), 503, 'Service Unavailable')
      return { done: true }
    })
  })
  assert.deepEqual((await app.inject('/page')).json(), { done: true })
})

nodeTest('200: the time that a client takes to send its body does not count', async (t) => {
  const body = Type.Object({ note: Type.String() })
  const app = startLimited(t, (routes) => {
    routes.post('/notes', { config: PUBLIC, schema: { body, response: MAY_WAIT } }, async (request) => request.body)
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const sending = httpRequest({ port, method: 'POST', path: '/notes', headers: { 'content-type': 'application/json' } })
  sending.write('{"note":')
  refused(await app.inject('/never'), 503, 'Service Unavailable')
  sending.end('"slow"}')
  const [response] = (await once(sending, 'response')) as [IncomingMessage]
  response.resume()
  assert.equal(response.statusCode, 200)
})

/** Real hashes, each of which takes about a second on this machine. */
async function slowPasswords(): Promise<Passwords> {
  const cheap = { memoryKiB: 64, passes: 2000, maxWaitMs: 60_000 }
  let fastestMs = Number.POSITIVE_INFINITY
  // The machine may be busy with something else during some of them.
  for (let round = 0; round < 5; round++) {
    const startedAt = performance.now()
    await createPasswords(cheap).hash('how long does it take?')
    fastestMs = Math.min(fastestMs, performance.now() - startedAt)
  }
  return createPasswords({ ...cheap, passes: Math.ceil((cheap.passes * 1000) / fastestMs) })
}

test('503: registrations that wait too long for their hash leave the queue and create no account', async (t) => {
  const slow = await slowPasswords()
  let hashed = 0
  const hash: Passwords['hash'] = async (password, signal) => {
    const passwordHash = await slow.hash(password, signal)
    if (!signal?.aborted) hashed++
    return passwordHash
  }
  const { app, services } = await startApp(t, { passwords: { ...slow, hash } })
  const cores = availableParallelism()
  const startedAt = performance.now()
  // Forty seconds of work.
  const answers = await Promise.all(Array.from({ length: 40 * cores }, () => app.inject(register())))
  const tookMs = performance.now() - startedAt
  assert.ok(tookMs < 30_000, `the last was answered after ${tookMs} ms`)
  assert.equal(slow.waiting(), 0)
  const late = answers.filter(({ statusCode }) => statusCode === 503)
  assert.ok(late.length > 0)
  for (const response of late) {
    refused(response, 503, 'Service Unavailable')
    assert.equal(response.headers['retry-after'], '2')
  }
  // Hashes that were running when the responses were sent have ended by then.
  await Promise.all(Array.from({ length: cores }, () => slow.hash('the next')))
  let users = 0
  for await (const page of services.userAdministration.list(OPERATOR)) users += page.length
  const created = answers.filter(({ statusCode }) => statusCode === 201).length
  // A registration whose hash was ready in time may be answered with 503 while its commit is on the way.
  assert.ok(created <= users && users <= hashed, `${created} were created, ${users} accounts exist, ${hashed} hashes were ready in time`)
  assert.ok(hashed < answers.length)
})
