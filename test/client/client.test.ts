import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Client, createClient, LatchkeyError } from '../../packages/client/src/index.ts'
import { member } from '../support/app/actors.ts'
import { startListening } from '../support/client/listening.ts'
import { freePort } from '../support/servers/free-port.ts'
import { serve } from '../support/servers/listen.ts'

const MIA = { email: 'mia@example.com', password: 'correct horse battery', firstName: 'Mia', lastName: 'Muster' }

async function loggedIn(t: TestContext) {
  const service = await startListening(t)
  const mia = await member(service)
  service.clock.advance({ seconds: 1 })
  const client = createClient({ url: service.url, now: service.clock.now })
  await client.login({ email: mia.email, password: mia.password })
  return { service, mia, client }
}

/** The error that a call throws. */
async function errorOf(call: Promise<unknown>): Promise<LatchkeyError> {
  const error = await call.then(
    () => assert.fail('the call succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof LatchkeyError, String(error))
  return error
}

test('register, verify, login, forgotten password and logout', async (t) => {
  const { url, mailbox, clock } = await startListening(t)
  const client = createClient({ url: `${url}/`, now: clock.now })
  await client.register(MIA)
  // The tokens of the registration are stored, and start to work with the verification.
  assert.equal((await errorOf(client.me())).code, 'token_invalid')
  assert.equal((await errorOf(client.login(MIA))).code, 'login_unverified')
  assert.equal(await mailbox.countFor(MIA.email), 1)
  await client.resendVerification(MIA.email)
  assert.equal(await mailbox.countFor(MIA.email), 2)
  await client.verify(await mailbox.codeFor(MIA.email))
  const profile = { email: MIA.email, firstName: MIA.firstName, lastName: MIA.lastName }
  assert.partialDeepStrictEqual(await client.me(), profile)

  await client.forgotPassword(MIA.email)
  await client.resetPassword({ code: await mailbox.codeFor(MIA.email), password: 'a brand new password' })
  assert.equal((await errorOf(client.me())).code, 'token_invalid')
  assert.equal((await errorOf(client.login(MIA))).code, 'wrong_credentials')
  await client.login({ email: MIA.email, password: 'a brand new password' })
  assert.partialDeepStrictEqual(await client.me(), profile)
  await client.logout()
  assert.equal((await errorOf(client.me())).code, 'not_authenticated')
  // Nothing is left to end.
  await client.logout()
})

test('keys: create, list, get, update, rotate and delete', async (t) => {
  const { service, mia, client } = await loggedIn(t)
  const expiresAt = new Date(service.clock.now() + 86_400_000)
  const created = await client.keys.create({ name: 'ci', scopes: ['notes:read'], expiresAt, access: 'read' })
  const { key, ...view } = created
  assert.match(key, /^lk_/)
  assert.deepEqual(view, {
    id: view.id,
    name: 'ci',
    createdAt: new Date(service.clock.now()).toISOString(),
    isActive: true,
    scopes: ['notes:read'],
    prefix: key.slice(0, 9),
    access: 'read',
    expiresAt: expiresAt.toISOString(),
    lastUsedAt: null,
    limit: null,
    retiringUntil: null,
  })
  assert.deepEqual(await client.keys.list(), [view])
  assert.deepEqual(await client.keys.get(view.id), view)
  const changed = await client.keys.update(view.id, { name: 'build', expiresAt: null })
  assert.deepEqual(changed, { ...view, name: 'build', expiresAt: null })
  const rotated = await client.keys.rotate(view.id, { overlapSeconds: 60 })
  assert.notEqual(rotated.key, key)
  assert.equal(rotated.retiringUntil, new Date(service.clock.now() + 60_000).toISOString())
  assert.equal((await client.keys.rotate(view.id)).retiringUntil, null)
  await client.keys.delete(view.id)
  assert.deepEqual(await client.keys.list(), [])
  assert.equal((await errorOf(client.keys.get(view.id))).code, 'key_not_found')
  assert.equal(mia.id, 1)
})

test('sessions: list, revoke and revoke others', async (t) => {
  const { service, mia, client } = await loggedIn(t)
  const other = createClient({ url: service.url, now: service.clock.now })
  service.clock.advance({ seconds: 1 })
  await other.login(mia)
  const sessions = await client.sessions.list()
  assert.deepEqual(
    sessions.map(({ current }) => current),
    // Another client, this one, and the session that the account was created with.
    [false, true, false],
  )
  await client.sessions.revoke(sessions[0]?.id ?? '')
  assert.equal((await errorOf(other.me())).code, 'token_invalid')
  assert.equal((await client.sessions.list()).length, 2)
  await client.sessions.revokeOthers()
  assert.equal((await client.sessions.list()).length, 1)
})

test('an id that would name another path is not sent', async (t) => {
  const { service, mia, client } = await loggedIn(t)
  const other = createClient({ url: service.url, now: service.clock.now })
  await other.login(mia)
  for (const id of ['', '.', '..', 'a/b', '?', '%2e'])
    for (const call of [client.sessions.revoke, client.keys.delete, client.keys.get])
      await assert.rejects(call(id), TypeError, `${call.name} with ${JSON.stringify(id)}`)
  // An empty id would have ended all other sessions.
  await other.me()
})

test('a refused call throws its code, status, message and request id, and with 422 its issues', async (t) => {
  const { url } = await startListening(t)
  const client = createClient({ url })
  const refused = await errorOf(client.login({ email: 'nobody@example.com', password: 'a wrong guess' }))
  const { name, code, status, message, requestId } = refused
  assert.deepEqual(
    { name, code, status, message },
    { name: 'LatchkeyError', code: 'wrong_credentials', status: 400, message: 'Wrong email or password' },
  )
  assert.match(String(requestId), /^\S+$/)
  assert.ok(!('issues' in refused))
  const invalid = await errorOf(client.register({ ...MIA, password: 'short' }))
  assert.deepEqual([invalid.code, invalid.status], ['invalid_request', 422])
  const [issue, ...others] = invalid.issues ?? []
  assert.deepEqual([issue?.loc, issue?.type, others], [['body', 'password'], 'string_too_short', []])
  assert.equal(invalid.message, `body.password: ${issue?.msg}`)
})

/** Something that answers in place of Latchkey. */
async function impostor(t: TestContext, status: number, headers: Record<string, string>, body: string): Promise<Client> {
  return createClient(await serve(t, (_request, response) => response.writeHead(status, headers).end(body)))
}

test('a response that is not one of Latchkey is an error with its status', async (t) => {
  const answers: [number, Record<string, string>, string][] = [
    [200, { 'content-type': 'text/html' }, '<h1>Accept our terms</h1>'],
    [200, { 'content-type': 'application/json' }, '"text"'],
    [502, { 'content-type': 'text/html' }, '<h1>Bad Gateway</h1>'],
    [404, { 'x-error-code': 'path_not_found' }, 'not JSON'],
    [401, {}, ''],
  ]
  for (const [status, headers, body] of answers) {
    const error = await errorOf((await impostor(t, status, headers, body)).login(MIA))
    assert.deepEqual([error.code, error.status], ['unexpected_response', status], body)
  }
  const redirecting = await impostor(t, 302, { location: 'https://evil.example' }, '')
  assert.equal((await errorOf(redirecting.login(MIA))).code, 'unreachable')
})

test('without a response the code is unreachable, and the status is 0', async () => {
  const error = await errorOf(createClient({ url: `http://127.0.0.1:${await freePort()}` }).login(MIA))
  assert.deepEqual([error.code, error.status, error.requestId], ['unreachable', 0, undefined])
  assert.ok(error.cause instanceof Error)
})

test('an aborted call ends with the reason of its signal', async (t) => {
  const { client } = await loggedIn(t)
  const reason = new Error('the user has left the page')
  const signal = AbortSignal.abort(reason)
  const calls = [
    client.login(MIA, { signal }),
    client.me({ signal }),
    client.keys.list({ signal }),
    client.sessions.revokeOthers({ signal }),
    client.logout({ signal }),
  ]
  await Promise.all(calls.map((call) => assert.rejects(call, (error) => error === reason)))
})

test('logout removes the tokens even if the service is not reachable, and says that it was not', async (t) => {
  const { service, client } = await loggedIn(t)
  await service.app.close()
  assert.equal((await errorOf(client.logout())).code, 'unreachable')
  assert.equal(await client.logout(), undefined)
})
