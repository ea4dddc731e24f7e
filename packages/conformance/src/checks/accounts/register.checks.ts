import { check, choice, mailCheck } from '../../check.ts'
import type { Context } from '../../context.ts'
import { expectEqual, expectFields, expectNoSecrets, expectRefused, expectStatus, expectThat, jsonObject } from '../../expect.ts'
import { decode, expectAlgorithm, expectLifetime } from '../../tokens.ts'

const ACCESS_SECONDS = 120 * 60
const REFRESH_SECONDS = 30 * 24 * 60 * 60

type Body = Readonly<Record<string, unknown>>

export function registration({ address, password }: Context, changes: Body = {}): Body {
  return { email: address(), password: password(), first_name: 'Conny', last_name: 'Check', ...changes }
}

const register = (context: Context, json: unknown) => context.call('POST', '/register/', { json })

export const REGISTER_CHECKS = [
  check('register.status', '4.1', 'a registration is answered with 201', async (context) => {
    expectStatus(await register(context, registration(context)), 201)
  }),
  check('register.tokens', '4.1', 'a registration returns token and refresh as JSON', async (context) => {
    const answer = await register(context, registration(context))
    expectFields(jsonObject(answer, answer.status), { token: 'string', refresh: 'string' }, answer)
  }),
  check('register.jwt', '2.3', 'both tokens are JWTs signed with HS256', async ({ shared }) => {
    const { token, refresh } = await shared.newcomer()
    expectAlgorithm(token)
    expectAlgorithm(refresh)
  }),
  check('register.access-lifetime', '2.3', 'the access token lives 120 minutes', async (context) => {
    const answer = await register(context, registration(context))
    expectLifetime(jsonObject(answer, answer.status)['token'], ACCESS_SECONDS, answer)
  }),
  check('register.refresh-lifetime', '2.3', 'the refresh token lives 30 days', async (context) => {
    const answer = await register(context, registration(context))
    expectLifetime(jsonObject(answer, answer.status)['refresh'], REFRESH_SECONDS, answer)
  }),
  check('register.refresh-type', '2.3', "the refresh token has typ = 'refresh'", async ({ shared }) => {
    expectEqual('typ', decode((await shared.newcomer()).refresh).claims['typ'], 'refresh')
  }),
  check('register.access-type', '2.3', 'the access token has none of the types of the other tokens', async ({ shared }) => {
    const { typ } = decode((await shared.newcomer()).token).claims
    expectThat(!['refresh', 'verify', 'reset'].includes(String(typ)), 'another typ', `typ: ${String(typ)}`)
  }),
  check('register.unverified', '3', 'a registered user is neither verified nor banned', async ({ register: create, find }) => {
    const { verified, banned } = await find((await create()).email)
    expectEqual('verified and banned', [verified, banned], [false, false])
  }),
  check('register.no-admin', '3', 'a registered user is not an admin', async ({ register: create, find }) => {
    const { role } = await find((await create()).email)
    expectThat(role !== 'admin', 'a role other than admin', String(role))
  }),
  check(
    'register.stored',
    '2.1',
    'the user is stored with the e-mail address and the names of the registration',
    async ({ register: create, find }) => {
      const { email } = await create({ firstName: 'Zoë', lastName: 'Łukasz-Ng 🙂' })
      const { first_name, last_name, email: stored } = await find(email)
      expectEqual('the stored fields', [stored, first_name, last_name], [email, 'Zoë', 'Łukasz-Ng 🙂'])
    },
  ),
  check('register.id', '2.1', 'the service assigns an integer as id, another one to each user', async ({ register: create, find }) => {
    const [one, other] = [await find((await create()).email), await find((await create()).email)]
    expectThat(Number.isInteger(one['id']) && one['id'] !== other['id'], 'two integers', JSON.stringify([one['id'], other['id']]))
  }),
  check('register.no-secrets', '2.1', 'the password is not returned', async (context) => {
    const body = registration(context)
    expectNoSecrets(await register(context, body), { values: [String(body['password'])] })
  }),
  check('register.privileges', '3', 'role, verified and banned in the body do not make an admin or a verified user', async (context) => {
    const body = registration(context, { role: 'admin', verified: true, is_admin: true, admin: true, id: 1 })
    const answer = await register(context, body)
    if (answer.status >= 400) return expectRefused(answer)
    const { role, verified } = await context.find(String(body['email']))
    expectThat(
      role !== 'admin' && verified === false,
      'a user without the admin role, not verified',
      JSON.stringify({ role, verified }),
      answer,
    )
  }),
  check('register.duplicate', '4.1', 'an e-mail address that is taken is refused', async (context) => {
    const { email } = await context.shared.newcomer()
    expectRefused(await register(context, registration(context, { email })))
  }),
  check('register.duplicate-harmless', '4.1', 'a refused second registration does not change the password', async (context) => {
    const first = await context.register()
    const second = registration(context, { email: first.email })
    await register(context, second)
    // 401 is the answer to an unverified user with the right password.
    expectStatus(await context.logIn(first), 401)
  }),
  choice('register.duplicate-400', '4.1', 'an e-mail address that is taken is answered with 400', async (context) => {
    const { email } = await context.shared.newcomer()
    expectStatus(await register(context, registration(context, { email })), 400)
  }),
  choice('register.duplicate-case', '4.1', 'an e-mail address in other upper and lower case is the same address', async (context) => {
    const { email } = await context.register()
    const again = await register(context, registration(context, { email: email.replace('conformance', 'Conformance') }))
    expectRefused(again)
  }),
  choice('register.role', '2.1', "a registered user has the role 'user'", async ({ register: create, find }) => {
    expectEqual('role', (await find((await create()).email))['role'], 'user')
  }),
  check(
    'register.token-waits',
    '5 rule 5',
    'the token of a user who is not verified opens no protected endpoint',
    async ({ call, shared }) => {
      expectStatus(await call('GET', '/users/me', { as: await shared.newcomer() }), 401, 403)
    },
  ),
  mailCheck('register.mail', '4.1 rule 1', 'a verification mail is sent', async ({ register: create, code }) => {
    await code((await create()).email)
  }),
  mailCheck(
    'register.mail-token',
    '2.3',
    "the mailed token is a JWT signed with HS256, with typ = 'verify'",
    async ({ register: create, code }) => {
      const token = await code((await create()).email)
      expectAlgorithm(token)
      expectEqual('typ', decode(token).claims['typ'], 'verify')
    },
  ),
  mailCheck(
    'register.token-works',
    '5',
    'the token of the registration works once the user is verified',
    async ({ register: create, code, call }) => {
      const account = await create()
      await call('GET', '/verify/', { query: { code: await code(account.email) } })
      expectStatus(await call('GET', '/users/me', { as: account }), 200)
    },
  ),
]
