import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createAdminClient, createClient } from '../../packages/client/src/index.ts'
import { admin, keyHolder, member } from '../support/app/actors.ts'
import { startListening } from '../support/client/listening.ts'
import { newEmail, PASSWORD } from '../support/http/requests.ts'

async function start(t: TestContext) {
  const service = await startListening(t)
  const boss = await keyHolder(service, await admin(service))
  return { service, boss, backEnd: createAdminClient({ url: `${service.url}/`, key: boss.key }) }
}

test('an admin client creates, finds, changes and deletes users', async (t) => {
  const { service, boss, backEnd } = await start(t)
  const { users } = backEnd
  const email = newEmail()
  const created = await users.create({ email, firstName: 'Nia', lastName: 'Neu', password: PASSWORD, verified: false })
  const { id } = created
  assert.deepEqual(created, { id, email, firstName: 'Nia', lastName: 'Neu', role: 'user', banned: false, verified: false })
  assert.deepEqual(await users.get(id), created)
  await users.verify(id)
  const client = createClient({ url: service.url })
  await client.login({ email, password: PASSWORD })
  assert.deepEqual(await users.update(id, { lastName: 'Alt' }), { email, firstName: 'Nia', lastName: 'Alt' })
  const page = await users.search({ searchTerm: 'alt', field: 'last_name', exactMatch: true, size: 10 })
  assert.deepEqual(page, { items: [{ ...created, lastName: 'Alt', verified: true }], total: 1, page: 1, size: 10, pages: 1 })
  await users.makeAdmin(id)
  assert.equal((await client.me()).role, 'admin')
  await users.revokeAdmin(id)
  assert.equal((await client.me()).role, 'user')
  await assert.rejects(users.revokeAdmin(boss.id), { code: 'revoke_last_admin', status: 400, message: 'Cannot revoke the last admin' })
  await users.ban(id)
  await assert.rejects(client.login({ email, password: PASSWORD }), { code: 'login_banned' })
  await users.unban(id)
  await users.setPassword(id, 'a brand new password')
  await client.login({ email, password: 'a brand new password' })
  await users.delete(id)
  await assert.rejects(users.get(id), { code: 'user_not_found', status: 404 })
})

test('an admin client manages the keys of a user', async (t) => {
  const { service, backEnd } = await start(t)
  const mia = await member(service)
  const { key, ...created } = await backEnd.keys.create(mia.id, { name: 'ci', scopes: ['notes:read'], access: 'identify' })
  assert.deepEqual([created.name, created.scopes, created.access], ['ci', ['notes:read'], 'identify'])
  const check = await service.app.inject({ url: '/auth/check', headers: { 'x-api-key': key } })
  assert.equal(check.json().user_id, mia.id)
  assert.equal((await backEnd.keys.update(mia.id, created.id, { isActive: false })).isActive, false)
  const listed = await backEnd.keys.list(mia.id)
  assert.deepEqual(
    listed.map(({ id }) => id),
    [created.id],
  )
  await backEnd.keys.delete(mia.id, created.id)
  assert.deepEqual(await backEnd.keys.list(mia.id), [])
  await assert.rejects(backEnd.keys.delete(mia.id, ''), TypeError)
})

test('401, 403: an admin client with another key is refused', async (t) => {
  const { service, boss } = await start(t)
  const mia = await keyHolder(service, await member(service))
  const reader = await keyHolder(service, boss, { access: 'read' })
  const user = { email: newEmail(), firstName: 'Nia', lastName: 'Neu' }
  for (const { key } of [mia, reader])
    await assert.rejects(createAdminClient({ url: service.url, key }).users.create(user), { code: 'not_permitted', status: 403 })
  await assert.rejects(createAdminClient({ url: service.url, key: 'x' }).users.create(user), { code: 'key_invalid', status: 401 })
})
