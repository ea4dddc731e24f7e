import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Change, createClient } from '../../packages/client/src/index.ts'
import { admin, member } from '../support/app/actors.ts'
import { startListening } from '../support/client/listening.ts'
import { newEmail } from '../support/http/requests.ts'

async function loggedIn(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startListening(t, { env })
  const mia = await member(service)
  const client = createClient({ url: service.url, now: service.clock.now })
  const changes: Change[] = []
  const stop = client.onChange((change) => void changes.push(change))
  await client.login(mia)
  return { service, mia, client, changes, stop }
}

test('me() has the details of the account', async (t) => {
  const { service, mia, client } = await loggedIn(t)
  const { email, firstName, lastName, id } = mia
  const createdAt = new Date(service.clock.now()).toISOString()
  const state = { role: 'user', banned: false, verified: true, createdAt, secondFactor: false }
  assert.deepEqual(await client.me(), { email, firstName, lastName, id, ...state })
})

test('updateProfile, changeEmail and changePassword change the own account', async (t) => {
  const { service, mia, client } = await loggedIn(t)
  const renamed = { email: mia.email, firstName: 'Maria', lastName: mia.lastName }
  assert.deepEqual(await client.updateProfile({ firstName: 'Maria', language: 'de' }), renamed)
  assert.equal((await client.me()).language, 'de')
  const email = newEmail()
  assert.deepEqual(await client.changeEmail(email), { ...renamed, email })
  const password = 'a brand new password'
  await assert.rejects(client.changePassword({ currentPassword: 'not this one', password }), { code: 'wrong_credentials', status: 400 })
  await client.changePassword({ currentPassword: mia.password, password })
  assert.equal((await client.me()).email, email, 'the session goes on')
  await createClient({ url: service.url }).login({ email, password })
})

test('deleteAccount deletes the account and removes the tokens; where the service does not permit it, nothing changes', async (t) => {
  const { mia, client, changes } = await loggedIn(t, { SELF_DELETION: 'true' })
  await assert.rejects(client.deleteAccount('not this one'), { code: 'wrong_credentials' })
  await client.me()
  await client.deleteAccount(mia.password)
  await assert.rejects(client.me(), { code: 'not_authenticated' })
  assert.deepEqual(changes, ['login', 'logout'])
  const other = await loggedIn(t)
  await assert.rejects(other.client.deleteAccount(other.mia.password), { status: 405 })
  await other.client.me()
})

test('onChange reports logins, logouts, a session that has ended and changes of the account, until it is stopped', async (t) => {
  const { service, mia, client, changes, stop } = await loggedIn(t)
  assert.deepEqual(changes.splice(0), ['login'])
  await client.updateProfile({ lastName: 'Neu' })
  assert.deepEqual(changes.splice(0), ['account'])
  service.clock.advance({ hours: 3 })
  await client.me()
  assert.deepEqual(changes, [], 'a renewed token is the same session')
  await client.logout()
  await client.logout()
  assert.deepEqual(changes.splice(0), ['logout'])
  await client.login(mia)
  const boss = await admin(service)
  await service.app.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: boss.headers })
  await assert.rejects(client.me(), { status: 401 })
  assert.deepEqual(changes.splice(0), ['login', 'logout'])
  await service.app.inject({ method: 'POST', url: `/users/${mia.id}/unban`, headers: boss.headers })
  stop()
  await client.login(mia)
  assert.deepEqual(changes, [])
})

test('a listener that was added twice is removed once', async (t) => {
  const service = await startListening(t)
  const mia = await member(service)
  const client = createClient({ url: service.url })
  let calls = 0
  const count = () => void calls++
  const [first] = [client.onChange(count), client.onChange(count)]
  first()
  first()
  await client.login(mia)
  assert.equal(calls, 1)
})
