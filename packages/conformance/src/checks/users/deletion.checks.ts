import { check, choice, mailCheck } from '../../check.ts'
import { expectEmpty, expectEqual, expectNoSuchPath, expectRefusal, expectStatus } from '../../expect.ts'
import { unknownId } from '../common.ts'

export const DELETION_CHECKS = [
  check('delete.status', '4.3', 'a deletion is answered with 204 without a body', async ({ register, idOf, call, operator }) => {
    const id = await idOf((await register()).email)
    expectEmpty(await call('DELETE', `/users/${id}`, { as: operator }), 204)
  }),
  check('delete.gone', '4.3 rule 4', 'the user cannot be found afterwards', async ({ register, idOf, call, operator }) => {
    const { email } = await register()
    await call('DELETE', `/users/${await idOf(email)}`, { as: operator })
    const answer = await call('GET', '/users/search', { as: operator, query: { search_term: email, field: 'email' } })
    expectEqual('total', (answer.json as { total?: unknown } | undefined)?.total, 0, answer)
  }),
  check('delete.again', '7', "a second deletion is answered with 404 'User not Found'", async ({ register, idOf, call, operator }) => {
    const id = await idOf((await register()).email)
    await call('DELETE', `/users/${id}`, { as: operator })
    expectRefusal(await call('DELETE', `/users/${id}`, { as: operator }), 404, 'User not Found')
  }),
  check('delete.login', '4.3 rule 4', 'the user cannot log in afterwards: 400', async ({ register, idOf, logIn, call, operator }) => {
    const account = await register()
    await call('DELETE', `/users/${await idOf(account.email)}`, { as: operator })
    expectRefusal(await logIn(account), 400)
  }),
  mailCheck('delete.token', '4.3 rule 4', 'the access token of the user is refused at once', async ({ member, call, operator }) => {
    const account = await member()
    await call('DELETE', `/users/${account.id}`, { as: operator })
    expectStatus(await call('GET', '/users/me', { as: account }), 401, 404)
  }),
  mailCheck('delete.keys', '2.2', "all of the user's API keys are deleted", async ({ member, createKey, call, operator }) => {
    const account = await member()
    const keys = [await createKey(account), await createKey(account)]
    await call('DELETE', `/users/${account.id}`, { as: operator })
    for (const { key } of keys) expectRefusal(await call('GET', '/users/me', { as: { key } }), 401)
  }),
  mailCheck('delete.admin-self', '4.3 rule 2', 'an admin may delete themself while another admin exists', async ({ admin, call }) => {
    const account = await admin()
    expectEmpty(await call('DELETE', `/users/${account.id}`, { as: account }), 204)
  }),
  mailCheck('delete.admin', '4.3', 'an admin may delete another admin', async ({ admin, call, operator }) => {
    const { id } = await admin()
    expectEmpty(await call('DELETE', `/users/${id}`, { as: operator }), 204)
  }),
  mailCheck('delete.self', '4.3', 'a user without the admin role cannot delete themself: 403', async ({ shared, find, call }) => {
    const account = await shared.member()
    expectRefusal(await call('DELETE', `/users/${account.id}`, { as: account }), 403, 'Not enough permissions')
    expectEqual('id', (await find(account.email))['id'], account.id)
  }),
  check('delete.unknown', '7', "an unknown user is answered with 404 'User not Found'", async ({ call, operator }) => {
    expectRefusal(await call('DELETE', `/users/${unknownId()}`, { as: operator }), 404, 'User not Found')
  }),
  check('delete.id-text', '4.3', 'a text as user_id is refused with 422 or 404', async ({ call, operator }) => {
    expectNoSuchPath(await call('DELETE', '/users/abc', { as: operator }))
  }),
  choice(
    'delete.free-address',
    '4.3 rule 4',
    'the e-mail address can be registered again, and gets another id',
    async ({ register, find, call, operator }) => {
      const { email } = await register()
      const { id } = await find(email)
      await call('DELETE', `/users/${id}`, { as: operator })
      await register({ email })
      const again = (await find(email))['id']
      expectEqual('whether the id is a new one', again !== id, true)
    },
  ),
]
