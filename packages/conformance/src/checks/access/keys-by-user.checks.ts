import type { Member } from '../../accounts.ts'
import { check, mailCheck } from '../../check.ts'
import type { Context, CreatedKey } from '../../context.ts'
import {
  expectEmpty,
  expectEqual,
  expectFields,
  expectNoSecrets,
  expectNoSuchPath,
  expectRefusal,
  expectRefused,
  expectStatus,
  jsonArray,
  jsonObject,
  KEY_VIEW,
} from '../../expect.ts'
import { unknownId } from '../common.ts'

const path = (userId: number, keyId?: string) => `/users/keys/by-user/${userId}${keyId === undefined ? '' : `/${keyId}`}`

async function foreignKey({ member, createKey }: Context): Promise<{ owner: Member; key: CreatedKey }> {
  const owner = await member()
  return { owner, key: await createKey(owner, 'of a user', ['kept']) }
}

const me = ({ call }: Context, { key }: CreatedKey) => call('GET', '/users/me', { as: { key } })

export const KEYS_BY_USER_CHECKS = [
  check('by-user.list-empty', '4.4', 'a user without keys has an empty list', async ({ register, idOf, call, operator }) => {
    const id = await idOf((await register()).email)
    expectEqual('the list', jsonArray(await call('GET', path(id), { as: operator }), 200), [])
  }),
  mailCheck('by-user.list', '4.4', "an admin lists a user's keys as key views", async (context) => {
    const { owner, key } = await foreignKey(context)
    const answer = await context.call('GET', path(owner.id), { as: context.operator })
    const views = jsonArray(answer, 200)
    for (const view of views) expectFields(view, KEY_VIEW, answer)
    expectEqual(
      'the ids',
      views.map(({ id }) => id),
      [key.id],
      answer,
    )
  }),
  mailCheck('by-user.no-key', '2.2', 'the list never shows a key or its hash', async ({ shared, call, operator }) => {
    const { key } = await shared.key()
    expectNoSecrets(await call('GET', path((await shared.member()).id), { as: operator }), { names: ['key'], values: [key] })
  }),
  check('by-user.unknown', '7', "an unknown user is answered with 404 'User not Found'", async ({ call, operator }) => {
    expectRefusal(await call('GET', path(unknownId()), { as: operator }), 404, 'User not Found')
  }),
  check('by-user.id-text', '4.3', 'a text as user_id is refused with 422 or 404', async ({ call, operator }) => {
    expectNoSuchPath(await call('GET', '/users/keys/by-user/abc', { as: operator }))
  }),
  mailCheck('by-user.change', '4.4', "an admin changes a user's key: 200 with the key view", async (context) => {
    const { owner, key } = await foreignKey(context)
    const answer = await context.call('PATCH', path(owner.id, key.id), { as: context.operator, json: { name: 'by an admin' } })
    const view = expectFields(jsonObject(answer, 200), KEY_VIEW, answer)
    expectEqual('name, is_active and scopes', [view['name'], view['is_active'], view['scopes']], ['by an admin', true, ['kept']], answer)
  }),
  mailCheck('by-user.change-no-key', '2.2', 'a change shows neither the key nor its hash', async (context) => {
    const { owner, key } = await foreignKey(context)
    const answer = await context.call('PATCH', path(owner.id, key.id), { as: context.operator, json: { name: 'hidden' } })
    expectNoSecrets(answer, { names: ['key'], values: [key.key] })
  }),
  mailCheck('by-user.disable', '3', 'a key that an admin disables is refused with 401, at once', async (context) => {
    const { owner, key } = await foreignKey(context)
    expectStatus(await context.call('PATCH', path(owner.id, key.id), { as: context.operator, json: { is_active: false } }), 200)
    expectRefusal(await me(context, key), 401)
  }),
  mailCheck('by-user.enable', '3', 'a key that an admin enables again works', async (context) => {
    const { owner, key } = await foreignKey(context)
    for (const is_active of [false, true])
      await context.call('PATCH', path(owner.id, key.id), { as: context.operator, json: { is_active } })
    expectStatus(await me(context, key), 200)
  }),
  mailCheck('by-user.delete', '4.4', "an admin deletes a user's key: 204 without a body", async (context) => {
    const { owner, key } = await foreignKey(context)
    expectEmpty(await context.call('DELETE', path(owner.id, key.id), { as: context.operator }), 204)
  }),
  mailCheck('by-user.deleted', '3', 'a key that an admin has deleted is refused with 401, at once', async (context) => {
    const { owner, key } = await foreignKey(context)
    await context.call('DELETE', path(owner.id, key.id), { as: context.operator })
    expectRefusal(await me(context, key), 401)
  }),
  mailCheck('by-user.wrong-user', '4.4', 'a key under the id of another user is refused, and still works', async (context) => {
    const { key } = await foreignKey(context)
    const other = (await context.shared.other()).id
    expectRefused(await context.call('PATCH', path(other, key.id), { as: context.operator, json: { is_active: false } }))
    expectRefused(await context.call('DELETE', path(other, key.id), { as: context.operator }))
    expectStatus(await me(context, key), 200)
  }),
  check('by-user.change-unknown', '4.4', 'a change of an unknown key is refused', async ({ shared, idOf, call, operator }) => {
    const id = await idOf((await shared.newcomer()).email)
    expectRefused(await call('PATCH', path(id, crypto.randomUUID()), { as: operator, json: { name: 'renamed' } }))
  }),
  check(
    'by-user.change-no-uuid',
    '4.4',
    'a change with a key_id that is no UUID is refused with 422 or 404',
    async ({ shared, idOf, call, operator }) => {
      const id = await idOf((await shared.newcomer()).email)
      expectNoSuchPath(await call('PATCH', path(id, 'abc'), { as: operator, json: { name: 'renamed' } }))
    },
  ),
  check('by-user.delete-unknown', '4.4', 'a deletion of an unknown key is refused', async ({ shared, idOf, call, operator }) => {
    const id = await idOf((await shared.newcomer()).email)
    expectRefused(await call('DELETE', path(id, crypto.randomUUID()), { as: operator }))
  }),
]
