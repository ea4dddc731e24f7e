import { check, choice } from '../../check.ts'
import {
  expectEqual,
  expectFields,
  expectInvalid,
  expectNoSecrets,
  expectRefusal,
  expectThat,
  FULL_VIEW,
  jsonArray,
  jsonObject,
} from '../../expect.ts'
import { unknownId } from '../common.ts'

export const LIST_CHECKS = [
  check('list.status', '4.3', 'GET /users/ returns an array', async ({ shared }) => {
    expectThat(jsonArray(await shared.list(), 200).length > 0, 'users', 'none')
  }),
  check(
    'list.full-view',
    '2.1',
    'the list contains full views: id, email, first_name, last_name, role, banned, verified',
    async ({ shared }) => {
      const answer = await shared.list()
      for (const user of jsonArray(answer, 200)) expectFields(user, FULL_VIEW, answer)
    },
  ),
  check('list.complete', '4.3', 'the list contains each user once', async ({ shared, call, operator }) => {
    const { email } = await shared.newcomer()
    const answer = await call('GET', '/users/', { as: operator })
    const users = jsonArray(answer, 200)
    expectEqual(`entries of ${email}`, users.filter((user) => user['email'] === email).length, 1, answer)
    expectEqual('different ids', new Set(users.map(({ id }) => id)).size, users.length, answer)
  }),
  check('list.no-secrets', '2.1', 'the list contains no password and no hash', async ({ shared }) => {
    expectNoSecrets(await shared.list())
  }),
  check('list.one', '4.3', 'with user_id, one user is returned, not an array', async ({ shared, idOf, call, operator }) => {
    const { email } = await shared.newcomer()
    const answer = await call('GET', '/users/', { as: operator, query: { user_id: await idOf(email) } })
    const user = expectFields(jsonObject(answer, 200), FULL_VIEW, answer)
    expectEqual('email', user['email'], email, answer)
  }),
  check('list.one-no-secrets', '2.1', 'the view of one user contains no password and no hash', async ({ shared, idOf, call, operator }) => {
    const query = { user_id: await idOf((await shared.newcomer()).email) }
    expectNoSecrets(await call('GET', '/users/', { as: operator, query }))
  }),
  check('list.id-text', '7', 'a text as user_id is answered with 422', async ({ call, operator }) => {
    expectInvalid(await call('GET', '/users/', { as: operator, query: { user_id: 'abc' } }))
  }),
  choice('list.unknown', '4.3', "an unknown user_id is answered with 404 'User not Found'", async ({ call, operator }) => {
    expectRefusal(await call('GET', '/users/', { as: operator, query: { user_id: unknownId() } }), 404, 'User not Found')
  }),
  choice('list.order', '4.3', 'the list is in order of id', async ({ shared }) => {
    const answer = await shared.list()
    const ids = jsonArray(answer, 200).map(({ id }) => Number(id))
    expectThat(
      ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0)),
      'ascending ids',
      'another order',
      answer,
    )
  }),
]
