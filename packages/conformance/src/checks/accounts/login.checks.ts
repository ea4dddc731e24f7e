import { check, mailCheck, mailChoice } from '../../check.ts'
import { expectEqual, expectFields, expectInvalid, expectNoSecrets, expectRefusal, expectStatus, jsonObject } from '../../expect.ts'
import { decode, expectAlgorithm, expectLifetime } from '../../tokens.ts'
import { brokenBodyChecks } from '../common.ts'

export const LOGIN_CHECKS = [
  mailCheck('login.status', '4.1', 'a login is answered with 200, token and refresh', async ({ logIn, shared }) => {
    const answer = await logIn(await shared.member())
    expectFields(jsonObject(answer, 200), { token: 'string', refresh: 'string' }, answer)
  }),
  mailCheck('login.jwt', '2.3', 'both tokens of a login are JWTs signed with HS256', async ({ logIn, shared }) => {
    const { token, refresh } = jsonObject(await logIn(await shared.member()), 200)
    expectAlgorithm(token)
    expectAlgorithm(refresh)
  }),
  mailCheck('login.lifetimes', '8', 'the tokens of a login live 120 minutes and 30 days', async ({ logIn, shared }) => {
    const answer = await logIn(await shared.member())
    const { token, refresh } = jsonObject(answer, 200)
    expectLifetime(token, 120 * 60, answer)
    expectLifetime(refresh, 30 * 24 * 60 * 60, answer)
  }),
  mailCheck('login.refresh-type', '2.3', "the refresh token of a login has typ = 'refresh'", async ({ logIn, shared }) => {
    const answer = await logIn(await shared.member())
    expectEqual('typ', decode(jsonObject(answer, 200)['refresh'], answer).claims['typ'], 'refresh', answer)
  }),
  mailCheck('login.token-works', '5', 'the token of a login opens a protected endpoint', async ({ call, logIn, shared }) => {
    const { token } = jsonObject(await logIn(await shared.member()), 200)
    expectStatus(await call('GET', '/users/me', { as: { token: String(token) } }), 200)
  }),
  mailCheck('login.no-secrets', '2.1', 'a login does not return the password', async ({ logIn, shared }) => {
    const member = await shared.member()
    expectNoSecrets(await logIn(member), { values: [member.password] })
  }),
  check('login.unknown-email', '4.1 rule 2', 'an unknown e-mail address is answered with 400', async ({ logIn, address, password }) => {
    expectRefusal(await logIn({ email: address(), password: password() }), 400)
  }),
  mailCheck('login.wrong-password', '4.1 rule 2', 'a wrong password is answered with 400', async ({ logIn, shared, password }) => {
    expectRefusal(await logIn({ email: (await shared.member()).email, password: password() }), 400)
  }),
  mailCheck('login.password-case', '4.1 rule 2', 'a password in other upper and lower case is a wrong one', async ({ logIn, shared }) => {
    const { email, password } = await shared.member()
    expectRefusal(await logIn({ email, password: password.toLowerCase() }), 400)
  }),
  mailCheck('login.password-prefix', '4.1 rule 2', 'the beginning of a password is a wrong one', async ({ logIn, shared }) => {
    const { email, password } = await shared.member()
    expectRefusal(await logIn({ email, password: password.slice(0, -1) }), 400)
  }),
  mailCheck('login.short-password', '8', 'a short password is a wrong one: login has no minimum length', async ({ logIn, shared }) => {
    expectRefusal(await logIn({ email: (await shared.member()).email, password: 'short' }), 400)
  }),
  check('login.unverified', '4.1 rule 2', 'a user who is not verified is answered with 401', async ({ logIn, shared }) => {
    expectRefusal(await logIn(await shared.newcomer()), 401)
  }),
  mailCheck('login.banned', '4.1 rule 2', 'a banned user is answered with 401', async ({ call, logIn, member, operator }) => {
    const banned = await member()
    await call('POST', `/users/${banned.id}/ban`, { as: operator })
    expectRefusal(await logIn(banned), 401)
  }),
  mailCheck('login.unbanned', '3', 'a user whose ban was lifted can log in', async ({ call, logIn, member, operator }) => {
    const account = await member()
    await call('POST', `/users/${account.id}/ban`, { as: operator })
    await call('POST', `/users/${account.id}/unban`, { as: operator })
    expectStatus(await logIn(account), 200)
  }),
  check('login.email-missing', '7', 'no email is answered with 422', async ({ call, password }) => {
    expectInvalid(await call('POST', '/login/', { json: { password: password() } }))
  }),
  check('login.password-missing', '7', 'no password is answered with 422', async ({ call, address }) => {
    expectInvalid(await call('POST', '/login/', { json: { email: address() } }))
  }),
  check('login.password-null', '7', 'null as password is answered with 422', async ({ call, address }) => {
    expectInvalid(await call('POST', '/login/', { json: { email: address(), password: null } }))
  }),
  ...brokenBodyChecks('login', 'POST', '/login/'),
  mailChoice(
    'login.no-enumeration',
    '4.1 rule 2',
    'a wrong password and an unknown address have the same answer',
    async ({ logIn, shared, address, password }) => {
      const known = await logIn({ email: (await shared.member()).email, password: password() })
      const unknown = await logIn({ email: address(), password: password() })
      expectEqual('status and body', [unknown.status, unknown.text], [known.status, known.text], unknown)
    },
  ),
  mailChoice('login.email-case', '4.1', 'the e-mail address is found in any upper and lower case', async ({ logIn, shared }) => {
    const { email, password } = await shared.member()
    expectStatus(await logIn({ email: email.toUpperCase(), password }), 200)
  }),
  mailChoice(
    'login.banned-silent',
    '4.1 rule 2',
    'a wrong password for a banned user is answered with 400',
    async ({ call, logIn, member, operator, password }) => {
      const { id, email } = await member()
      await call('POST', `/users/${id}/ban`, { as: operator })
      expectRefusal(await logIn({ email, password: password() }), 400)
    },
  ),
]
