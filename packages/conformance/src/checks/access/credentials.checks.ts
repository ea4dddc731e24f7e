import { check, choice, mailCheck } from '../../check.ts'
import type { Credentials } from '../../client.ts'
import type { Context } from '../../context.ts'
import { expectEqual, expectRefusal, expectStatus, jsonObject } from '../../expect.ts'
import { decode, shapedText, unsecured, withClaims, withOtherSignature } from '../../tokens.ts'

const me = ({ call }: Context, as?: Credentials) => call('GET', '/users/me', { as })

export const CREDENTIALS_CHECKS = [
  check('auth.garbage', '5', 'a bearer token that is no JWT is answered with 401', async (context) => {
    expectRefusal(await me(context, { token: 'garbage' }), 401)
  }),
  check('auth.invalid', '7', "an invalid token is answered with 401 'That token is Invalid'", async (context) => {
    expectRefusal(await me(context, { token: shapedText(200) }), 401, 'That token is Invalid')
  }),
  check('auth.key-unknown', '5', 'an unknown API key is answered with 401', async (context) => {
    expectRefusal(await me(context, { key: 'conformance-unknown-key' }), 401)
  }),
  check('auth.key-changed', '5', 'an API key with another last character is answered with 401', async (context) => {
    const key = context.operator.key ?? ''
    expectRefusal(await me(context, { key: key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a') }), 401)
  }),
  check('auth.token-first', '5 rule 2', 'an invalid token beside a valid API key is answered with 401', async (context) => {
    expectRefusal(await me(context, { ...context.operator, token: shapedText(200) }), 401)
  }),
  mailCheck('auth.token-used', '5 rule 2', 'a valid token beside an invalid API key is used', async (context) => {
    const { token } = await context.shared.member()
    expectStatus(await me(context, { token, key: 'conformance-unknown-key' }), 200)
  }),
  mailCheck('auth.token-wins', '5 rule 2', "with both, the caller is the token's user", async (context) => {
    const { token, email } = await context.shared.other()
    const answer = await me(context, { token, key: (await context.shared.key()).key })
    expectEqual('email', jsonObject(answer, 200)['email'], email, answer)
  }),
  mailCheck('auth.refresh-token', '2.3 rule 5', 'a refresh token is no access token: 401', async (context) => {
    expectRefusal(await me(context, { token: (await context.shared.member()).refresh }), 401)
  }),
  mailCheck('auth.verify-token', '2.3 rule 5', 'a verify token is no access token: 401', async (context) => {
    const { id, email } = await context.admin()
    const [token = ''] = await context.codes(email)
    await context.find(email)
    expectRefusal(await me(context, { token }), 401)
    expectRefusal(await context.call('GET', '/users/', { as: { token }, query: { user_id: id } }), 401)
  }),
  mailCheck('auth.reset-token', '2.3 rule 5', 'a reset token is no access token: 401', async (context) => {
    expectRefusal(await me(context, { token: await context.resetCode((await context.member()).email) }), 401)
  }),
  mailCheck('auth.other-signature', '5', 'a token with another signature is answered with 401', async (context) => {
    expectRefusal(await me(context, { token: withOtherSignature((await context.shared.member()).token) }), 401)
  }),
  mailCheck('auth.unsecured', '2.3', 'a token without a signature (alg: none) is answered with 401', async (context) => {
    for (const token of unsecured((await context.shared.member()).token)) expectRefusal(await me(context, { token }), 401)
  }),
  mailCheck('auth.other-claims', '5', "a token with the claims of another user's is answered with 401", async (context) => {
    const [mine, other] = [await context.shared.member(), await context.shared.other()]
    expectRefusal(await me(context, { token: withClaims(mine.token, decode(other.token).claims) }), 401)
  }),
  mailCheck('auth.key-as-token', '5', 'an API key is no bearer token: 401', async (context) => {
    expectRefusal(await me(context, { token: (await context.shared.key()).key }), 401)
  }),
  mailCheck('auth.token-as-key', '5', 'an access token is no API key: 401', async (context) => {
    expectRefusal(await me(context, { key: (await context.shared.member()).token }), 401)
  }),
  mailCheck('auth.key-admin', '5 rule 3', 'the API key of an admin opens admin endpoints', async (context) => {
    const { key } = await context.createKey(await context.shared.admin())
    expectStatus(await context.call('GET', '/users/search', { as: { key }, query: { search_term: context.marker } }), 200)
  }),
  mailCheck('auth.key-user', '5 rule 4', "the API key of a user who is no admin gets 403 'Not enough permissions'", async (context) => {
    const { key } = await context.shared.key()
    expectRefusal(
      await context.call('GET', '/users/search', { as: { key }, query: { search_term: context.marker } }),
      403,
      'Not enough permissions',
    )
  }),
  mailCheck('auth.scopes', '5 rule 3', 'scopes do not restrict a key', async (context) => {
    const account = await context.member()
    const { key } = await context.createKey(account, 'scoped', ['nothing:at-all'])
    const password = context.password()
    expectStatus(await context.call('POST', `/users/${account.id}/password`, { as: { key }, json: { password } }), 204)
  }),
  mailCheck('auth.key-creates-key', '5 rule 3', 'a key may create another key', async (context) => {
    await context.createKey({ key: (await context.shared.key()).key }, 'made by a key')
  }),
  choice('auth.other-scheme', '5', 'Authorization of another scheme is ignored beside an API key', async (context) => {
    const headers = { authorization: 'Basic Y29uZm9ybWFuY2U6eA==' }
    expectStatus(await context.call('GET', '/users/me', { as: context.operator, headers }), 200)
  }),
  choice('auth.challenge', '7', '401 carries WWW-Authenticate: Bearer', async (context) => {
    const answer = await me(context)
    expectEqual('the scheme', answer.headers.get('www-authenticate')?.split(' ')[0], 'Bearer', answer)
  }),
]
