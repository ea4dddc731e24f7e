import { type Check, check, choice, mailCheck, mailChoice } from '../../check.ts'
import { expectEmpty, expectEqual, expectNoSuchPath, expectRefusal, expectRefused, expectStatus } from '../../expect.ts'
import { unknownId } from '../common.ts'

const ACTIONS = { ban: 'ban', unban: 'unban', promote: 'make-admin' } as const

/** What the three actions have in common. */
function commonChecks(area: keyof typeof ACTIONS): Check[] {
  const action = ACTIONS[area]
  return [
    check(`${area}.status`, '4.3', `${action} is answered with 204 without a body`, async ({ register, idOf, call, operator }) => {
      const id = await idOf((await register()).email)
      expectEmpty(await call('POST', `/users/${id}/${action}`, { as: operator }), 204)
    }),
    check(`${area}.unknown`, '7', `${action} of an unknown user is answered with 404 'User not Found'`, async ({ call, operator }) => {
      expectRefusal(await call('POST', `/users/${unknownId()}/${action}`, { as: operator }), 404, 'User not Found')
    }),
    check(`${area}.id-text`, '4.3', `${action} with a text as user_id is refused with 422 or 404`, async ({ call, operator }) => {
      expectNoSuchPath(await call('POST', `/users/abc/${action}`, { as: operator }))
    }),
    choice(`${area}.again`, '3', `${action} of the same user again is answered with 204`, async ({ register, idOf, call, operator }) => {
      const id = await idOf((await register()).email)
      await call('POST', `/users/${id}/${action}`, { as: operator })
      expectStatus(await call('POST', `/users/${id}/${action}`, { as: operator }), 204)
    }),
  ]
}

export const ADMINISTRATION_CHECKS = [
  ...commonChecks('ban'),
  check('ban.banned', '3', 'the user is banned afterwards', async ({ register, find, idOf, call, operator }) => {
    const { email } = await register()
    await call('POST', `/users/${await idOf(email)}/ban`, { as: operator })
    expectEqual('banned', (await find(email))['banned'], true)
  }),
  mailCheck('ban.token', '5 rule 5', 'the access token of the user is refused at once', async ({ member, call, operator }) => {
    const account = await member()
    await call('POST', `/users/${account.id}/ban`, { as: operator })
    expectStatus(await call('GET', '/users/me', { as: account }), 401, 403)
  }),
  mailCheck('ban.key', '5 rule 5', 'the API key of the user is refused at once', async ({ member, createKey, call, operator }) => {
    const account = await member()
    const { key } = await createKey(account)
    await call('POST', `/users/${account.id}/ban`, { as: operator })
    expectStatus(await call('GET', '/users/me', { as: { key } }), 401, 403)
  }),
  mailCheck('ban.self', '4.3', 'an admin cannot ban themself', async ({ admin, find, call }) => {
    const account = await admin()
    expectRefused(await call('POST', `/users/${account.id}/ban`, { as: account }))
    expectEqual('banned', (await find(account.email))['banned'], false)
  }),
  mailCheck('ban.admin', '3', 'another admin can be banned', async ({ admin, find, call, operator }) => {
    const account = await admin()
    await call('POST', `/users/${account.id}/ban`, { as: operator })
    expectEqual('banned', (await find(account.email))['banned'], true)
  }),
  mailChoice('ban.self-400', '4.3', 'an admin who bans themself is answered with 400', async ({ admin, call }) => {
    const account = await admin()
    expectRefusal(await call('POST', `/users/${account.id}/ban`, { as: account }), 400)
  }),
  ...commonChecks('unban'),
  check('unban.unbanned', '3', 'the user is not banned afterwards', async ({ register, find, idOf, call, operator }) => {
    const { email } = await register()
    const id = await idOf(email)
    await call('POST', `/users/${id}/ban`, { as: operator })
    await call('POST', `/users/${id}/unban`, { as: operator })
    expectEqual('banned', (await find(email))['banned'], false)
  }),
  mailChoice('unban.key', '3', 'the API key of the user works again', async ({ member, createKey, call, operator }) => {
    const account = await member()
    const { key } = await createKey(account)
    await call('POST', `/users/${account.id}/ban`, { as: operator })
    await call('POST', `/users/${account.id}/unban`, { as: operator })
    expectStatus(await call('GET', '/users/me', { as: { key } }), 200)
  }),
  ...commonChecks('promote'),
  check('promote.role', '3', "the user's role is admin afterwards", async ({ register, find, idOf, call, operator }) => {
    const { email } = await register()
    await call('POST', `/users/${await idOf(email)}/make-admin`, { as: operator })
    expectEqual('role', (await find(email))['role'], 'admin')
  }),
  mailCheck(
    'promote.allowed',
    '5 rule 4',
    'the user may call admin endpoints at once, with the token from before',
    async ({ member, marker, call, operator }) => {
      const account = await member()
      await call('POST', `/users/${account.id}/make-admin`, { as: operator })
      expectStatus(await call('GET', '/users/search', { as: account, query: { search_term: marker } }), 200)
    },
  ),
  check('promote.verified', '3', 'make-admin does not verify a user', async ({ register, find, idOf, call, operator }) => {
    const { email } = await register()
    await call('POST', `/users/${await idOf(email)}/make-admin`, { as: operator })
    expectEqual('verified', (await find(email))['verified'], false)
  }),
]
