import type { Member } from '../../accounts.ts'
import { check, mailCheck, mailChoice } from '../../check.ts'
import type { Context, CreatedKey } from '../../context.ts'
import {
  expectEmpty,
  expectEqual,
  expectFields,
  expectInvalid,
  expectNoSecrets,
  expectNoSuchPath,
  expectRefusal,
  expectRefused,
  expectStatus,
  jsonObject,
  KEY_VIEW,
} from '../../expect.ts'

async function ownedKey({ shared, createKey }: Context): Promise<{ owner: Member; key: CreatedKey }> {
  const owner = await shared.member()
  return { owner, key: await createKey(owner, 'to be changed', ['kept']) }
}

const change = ({ call }: Context, owner: Member, id: string, json: unknown) => call('PATCH', `/users/keys/${id}`, { as: owner, json })
const me = ({ call }: Context, key: string) => call('GET', '/users/me', { as: { key } })

export const KEY_CHANGES_CHECKS = [
  mailCheck('key-changes.name', '4.4', 'the name can be changed: 200 with the key view', async (context) => {
    const { owner, key } = await ownedKey(context)
    const answer = await change(context, owner, key.id, { name: 'renamed' })
    const view = expectFields(jsonObject(answer, 200), KEY_VIEW, answer)
    expectEqual('name and is_active', [view['name'], view['is_active']], ['renamed', true], answer)
  }),
  mailCheck('key-changes.stored', '4.4', 'a change is stored', async (context) => {
    const { owner, key } = await ownedKey(context)
    await change(context, owner, key.id, { name: 'renamed', is_active: false })
    const answer = await context.call('GET', `/users/keys/${key.id}`, { as: owner })
    const { name, is_active } = jsonObject(answer, 200)
    expectEqual('name and is_active', [name, is_active], ['renamed', false], answer)
  }),
  mailCheck('key-changes.both', '4.4', 'both can be changed at once', async (context) => {
    const { owner, key } = await ownedKey(context)
    const answer = await change(context, owner, key.id, { name: 'both', is_active: false })
    const { name, is_active } = jsonObject(answer, 200)
    expectEqual('name and is_active', [name, is_active], ['both', false], answer)
  }),
  mailCheck('key-changes.rest', '4.4', 'nothing but name and is_active can be changed', async (context) => {
    const { owner, key } = await ownedKey(context)
    const other = { id: crypto.randomUUID(), scopes: ['more'], created_at: '2000-01-01T00:00:00Z', user_id: 1 }
    await change(context, owner, key.id, { name: 'renamed', ...other })
    const answer = await context.call('GET', `/users/keys/${key.id}`, { as: owner })
    const { id, scopes, created_at } = jsonObject(answer, 200)
    expectEqual('id, scopes and created_at', [id, scopes, created_at], [key.id, ['kept'], key.view['created_at']], answer)
  }),
  mailCheck('key-changes.no-key', '2.2', 'a change shows neither the key nor its hash', async (context) => {
    const { owner, key } = await ownedKey(context)
    expectNoSecrets(await change(context, owner, key.id, { name: 'hidden' }), { names: ['key'], values: [key.key] })
  }),
  mailCheck('key-changes.disable', '3', 'a disabled key is refused with 401, at once', async (context) => {
    const { owner, key } = await ownedKey(context)
    expectStatus(await change(context, owner, key.id, { is_active: false }), 200)
    expectRefusal(await me(context, key.key), 401)
  }),
  mailCheck('key-changes.disabled-stays', '2.2', 'a disabled key is not deleted', async (context) => {
    const { owner, key } = await ownedKey(context)
    await change(context, owner, key.id, { is_active: false })
    const answer = await context.call('GET', `/users/keys/${key.id}`, { as: owner })
    expectEqual('is_active', jsonObject(answer, 200)['is_active'], false, answer)
  }),
  mailCheck('key-changes.enable', '3', 'a key that is enabled again works', async (context) => {
    const { owner, key } = await ownedKey(context)
    await change(context, owner, key.id, { is_active: false })
    const answer = await change(context, owner, key.id, { is_active: true })
    expectEqual('is_active', jsonObject(answer, 200)['is_active'], true, answer)
    expectStatus(await me(context, key.key), 200)
  }),
  mailCheck('key-changes.is-active-text', '7', 'a text as is_active is answered with 422', async (context) => {
    const { owner, key } = await ownedKey(context)
    expectInvalid(await change(context, owner, key.id, { is_active: 'perhaps' }))
  }),
  mailCheck('key-changes.name-object', '7', 'an object as name is answered with 422', async (context) => {
    const { owner, key } = await ownedKey(context)
    expectInvalid(await change(context, owner, key.id, { name: {} }))
  }),
  mailCheck('key-changes.other', '4.4', "another user's key is refused, and stays as it is", async (context) => {
    const { owner, key } = await ownedKey(context)
    expectRefused(await change(context, await context.shared.other(), key.id, { name: 'stolen', is_active: false }))
    const answer = await context.call('GET', `/users/keys/${key.id}`, { as: owner })
    expectEqual('name', jsonObject(answer, 200)['name'], 'to be changed', answer)
  }),
  check('key-changes.no-uuid', '4.4', 'a key_id that is no UUID is refused with 422 or 404', async ({ call, operator }) => {
    expectNoSuchPath(await call('PATCH', '/users/keys/abc', { as: operator, json: { name: 'renamed' } }))
  }),
  mailCheck('key-deletion.status', '4.4', 'a deletion is answered with 204 without a body', async (context) => {
    const { owner, key } = await ownedKey(context)
    expectEmpty(await context.call('DELETE', `/users/keys/${key.id}`, { as: owner }), 204)
  }),
  mailCheck('key-deletion.refused', '3', 'a deleted key is refused with 401, at once', async (context) => {
    const { owner, key } = await ownedKey(context)
    await context.call('DELETE', `/users/keys/${key.id}`, { as: owner })
    expectRefusal(await me(context, key.key), 401)
  }),
  mailCheck('key-deletion.gone', '3', 'a deleted key cannot be found', async (context) => {
    const { owner, key } = await ownedKey(context)
    await context.call('DELETE', `/users/keys/${key.id}`, { as: owner })
    expectRefused(await context.call('GET', `/users/keys/${key.id}`, { as: owner }))
  }),
  mailCheck('key-deletion.other', '4.4', "another user's key is refused, and still works", async (context) => {
    const { key } = await ownedKey(context)
    expectRefused(await context.call('DELETE', `/users/keys/${key.id}`, { as: await context.shared.other() }))
    expectStatus(await me(context, key.key), 200)
  }),
  check('key-deletion.unknown', '4.4', 'an unknown key is refused', async ({ call, operator }) => {
    expectRefused(await call('DELETE', `/users/keys/${crypto.randomUUID()}`, { as: operator }))
  }),
  check('key-deletion.no-uuid', '4.4', 'a key_id that is no UUID is refused with 422 or 404', async ({ call, operator }) => {
    expectNoSuchPath(await call('DELETE', '/users/keys/abc', { as: operator }))
  }),
  mailChoice('key-changes.nothing', '4.4', 'a change of neither name nor is_active is answered with 422', async (context) => {
    const { owner, key } = await ownedKey(context)
    expectInvalid(await change(context, owner, key.id, {}))
  }),
]
