import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createFollowUps } from '../../../src/domain/changes/follow-ups.ts'
import { createSecretUse } from '../../../src/domain/operations/secret-use.ts'
import { createLogger } from '../../../src/process/logger.ts'
import { prepare } from '../../../src/process/prepare.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { admin, keyHolder, member } from '../../support/app/actors.ts'
import { type EventRow, storedEvents, storedKinds } from '../../support/app/audit.ts'
import { startApp, TEST_SECRET } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { forgotPassword, login, logout, newEmail, PASSWORD, register, resetPassword, verify } from '../../support/http/requests.ts'
import { commandLine } from '../../support/processes/command-line.ts'

test('every change over HTTP leaves an event with actor, target, request id and address', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const before = (await storedEvents(service.db)).length
  const expected: Pick<EventRow, 'kind' | 'actor' | 'target' | 'key_id' | 'request_id'>[] = []
  const expect = (requestId: unknown, actor: number | null, target: number | null, kind: string, keyId: string | null = null) =>
    expected.push({ kind, actor, target, key_id: keyId, request_id: String(requestId) })
  const send = async (request: InjectOptions) => {
    const response = await service.app.inject(request)
    assert.ok(response.statusCode < 300, response.body)
    return { id: response.headers['x-request-id'], body: response.body === '' ? {} : response.json() }
  }
  const email = newEmail()
  const registered = await send(register({ email }))
  const id = (await service.services.userAdministration.findByEmail(email)).id
  expect(registered.id, null, id, 'user.registered')
  expect(registered.id, null, id, 'session.created')
  expect((await send(verify(await service.mailbox.codeFor(email)))).id, null, id, 'user.verified')
  await send(forgotPassword(email))
  const code = await service.mailbox.codeFor(email)
  expect((await send(resetPassword({ code, new_password: PASSWORD }))).id, null, id, 'user.password_reset')
  const loggedIn = await send(login({ email }))
  expect(loggedIn.id, null, id, 'session.created')
  const headers = { authorization: `Bearer ${loggedIn.body.token}` }
  const edited = await send({ method: 'PUT', url: `/users/${id}`, headers, payload: { first_name: 'Ada', password: PASSWORD } })
  expect(edited.id, id, id, 'user.edited')
  expect(edited.id, id, id, 'user.password_changed')
  const key = await send({ method: 'POST', url: '/users/keys', headers, payload: { name: 'key' } })
  const keyUrl = `/users/keys/${key.body.id}`
  expect(key.id, id, id, 'key.created', key.body.id)
  expect((await send({ method: 'PATCH', url: keyUrl, headers, payload: { name: 'other' } })).id, id, id, 'key.changed', key.body.id)
  const rotated = await send({ method: 'POST', url: `${keyUrl}/rotate`, headers })
  expect(rotated.id, id, id, 'key.rotated', key.body.id)
  const leak = [{ token: rotated.body.key, type: 'key', url: 'https://example.com/leak', source: 'content' }]
  expect((await send({ method: 'POST', url: '/auth/leaked', payload: leak })).id, null, id, 'key.leaked', key.body.id)
  expect((await send({ method: 'DELETE', url: keyUrl, headers })).id, id, id, 'key.revoked', key.body.id)
  expect((await send(logout(headers))).id, id, id, 'session.revoked')
  for (const [path, kind] of [
    ['make-admin', 'user.promoted'],
    ['ban', 'user.banned'],
    ['unban', 'user.unbanned'],
  ] as const)
    expect((await send({ method: 'POST', url: `/users/${id}/${path}`, headers: boss.headers })).id, boss.id, id, kind)
  expect((await send({ method: 'DELETE', url: `/users/${id}`, headers: boss.headers })).id, boss.id, id, 'user.deleted')
  const stored = (await storedEvents(service.db)).slice(before)
  assert.deepEqual(
    stored.map(({ kind, actor, target, key_id, request_id }) => ({ kind, actor, target, key_id, request_id })),
    expected,
  )
  assert.deepEqual(new Set(stored.map(({ via, ip, at }) => `${via} ${ip} ${at}`)), new Set([`http 127.0.0.1 ${service.clock.now()}`]))
  const details = Object.fromEntries(stored.map(({ kind, detail }) => [kind, detail === null ? null : JSON.parse(detail)]))
  assert.deepEqual(details['user.edited'], { changed: ['first_name'] })
  assert.deepEqual(details['key.changed'], { changed: ['name'] })
  assert.deepEqual(details['key.leaked'], { url: 'https://example.com/leak' })
  assert.deepEqual(Object.keys(details['session.created']), ['session_id'])
  assert.equal(details['user.deleted'], null)
})

test('a change that is refused, and a request for a mail, leave no event', async (t) => {
  const service = await startApp(t)
  const [mia, other] = [await member(service), await member(service)]
  const before = await storedKinds(service.db)
  await service.app.inject({ method: 'PUT', url: `/users/${mia.id}`, headers: mia.headers, payload: { email: other.email } })
  await service.app.inject({ method: 'DELETE', url: `/users/${other.id}`, headers: mia.headers })
  await service.app.inject(forgotPassword(mia.email))
  assert.deepEqual(await storedKinds(service.db), before)
})

test('if the event cannot be stored, the change does not happen', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const mia = await member(service)
  const { transaction } = service.db
  service.db.transaction = (work, options = {}) => {
    const broken = () => (options.finalStatements?.() ?? []).map((final) => ({ ...final, values: final.values.map(() => null) }))
    return transaction(work, { ...options, finalStatements: broken })
  }
  const banned = await service.app.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: boss.headers })
  assert.equal(banned.statusCode, 500)
  service.db.transaction = transaction
  assert.equal((await service.services.userAdministration.find(mia.id)).banned, false)
  assert.equal((await service.app.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: boss.headers })).statusCode, 204)
  assert.equal((await storedKinds(service.db)).at(-1), `user.banned ${mia.id}`)
})

test('a change on the command line leaves an event', async (t) => {
  const { run, database } = await commandLine(t)
  const create = (email: string, ...options: string[]) =>
    run(['user', 'create', '--email', email, '--first-name', 'A', '--last-name', 'B', '--password', '-', ...options], `${PASSWORD}\n`)
  for (const command of [() => create('ada@example.com', '--admin'), () => create('bob@example.com')])
    assert.equal((await command()).code, 0)
  for (const command of ['make-admin', 'revoke-admin', 'ban', 'unban', 'delete']) {
    assert.equal((await run(['user', command, '2', '--dry-run'])).code, 0)
    assert.equal((await run(['user', command, '2'])).code, 0)
  }
  assert.deepEqual(
    (await storedEvents(await database())).map(({ kind, actor, via, target, ip, request_id }) => [
      kind,
      actor,
      via,
      target,
      ip,
      request_id,
    ]),
    [
      ['user.registered', null, 'cli', 1, null, null],
      ['user.promoted', null, 'cli', 1, null, null],
      ['user.registered', null, 'cli', 2, null, null],
      ['user.promoted', null, 'cli', 2, null, null],
      ['user.demoted', null, 'cli', 2, null, null],
      ['user.banned', null, 'cli', 2, null, null],
      ['user.unbanned', null, 'cli', 2, null, null],
      ['user.deleted', null, 'cli', 2, null, null],
    ],
  )
})

test('the admin of the settings, and another secret key, leave events of the start', async (t) => {
  const service = await startApp(t, { env: { ADMIN_EMAIL: 'root@example.com', ADMIN_PASSWORD: PASSWORD } })
  await prepare(service.config, createLogger('silent', { write: () => undefined }))
  const useSecrets = async (...secrets: string[]) => {
    const [current, ...fallbacks] = secrets.map((secret) => new TextEncoder().encode(secret))
    assert.ok(current)
    const followUps = () => createFollowUps({ secrets: [current, ...fallbacks] })
    const changes = createChanges({ db: service.db, now: service.clock.now, followUps, onEvent: () => undefined })
    const onFailure = (error: unknown) => assert.fail(String(error))
    await createSecretUse({ changes, now: service.clock.now, secrets: [current, ...fallbacks], onFailure }).run()
  }
  await useSecrets(TEST_SECRET)
  await useSecrets('another secret', TEST_SECRET)
  assert.equal(secretsOf(service.config).length, 1)
  const events = (await storedEvents(service.db)).map(({ kind, via, actor, target }) => ({ kind, via, actor, target }))
  assert.deepEqual(events, [
    { kind: 'user.registered', via: 'start', actor: null, target: 1 },
    { kind: 'user.promoted', via: 'start', actor: null, target: 1 },
    { kind: 'secret.rotated', via: 'start', actor: null, target: null },
  ])
})

test('an event of an API key holder names the user, not the key', async (t) => {
  const service = await startApp(t)
  const holder = await keyHolder(service, await member(service))
  await service.app.inject({ method: 'POST', url: '/users/keys', headers: holder.headers, payload: { name: 'second' } })
  const last = (await storedEvents(service.db)).at(-1)
  assert.deepEqual([last?.kind, last?.actor, last?.target], ['key.created', holder.id, holder.id])
})
