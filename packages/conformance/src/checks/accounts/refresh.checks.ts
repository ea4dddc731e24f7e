import { check, choice, mailCheck, mailChoice } from '../../check.ts'
import type { Context } from '../../context.ts'
import { expectEqual, expectInvalid, expectRefusal, expectStatus, expectThat, jsonObject } from '../../expect.ts'
import { decode, expectAlgorithm, expectLifetime, unsecured, withClaims, withOtherSignature } from '../../tokens.ts'
import { badTokenChecks, brokenBodyChecks } from '../common.ts'

const renew = ({ call }: Context, refresh: string | null) => call('POST', '/refresh/', { json: { refresh } })

export const REFRESH_CHECKS = [
  mailCheck('refresh.status', '4.1', 'a refresh is answered with 200 and a token', async (context) => {
    const answer = await renew(context, (await context.shared.member()).refresh)
    expectThat(typeof jsonObject(answer, 200)['token'] === 'string', 'a token', 'none', answer)
  }),
  mailCheck('refresh.jwt', '2.3', 'the new access token is a JWT signed with HS256 that lives 120 minutes', async (context) => {
    const answer = await renew(context, (await context.shared.member()).refresh)
    const { token } = jsonObject(answer, 200)
    expectAlgorithm(token, answer)
    expectLifetime(token, 120 * 60, answer)
  }),
  mailCheck('refresh.token-type', '2.3', 'the new access token has none of the types of the other tokens', async (context) => {
    const answer = await renew(context, (await context.shared.member()).refresh)
    const { typ } = decode(jsonObject(answer, 200)['token'], answer).claims
    expectThat(!['refresh', 'verify', 'reset'].includes(String(typ)), 'another typ', `typ: ${String(typ)}`, answer)
  }),
  mailCheck('refresh.token-works', '5', 'the new access token opens a protected endpoint', async (context) => {
    const { token } = jsonObject(await renew(context, (await context.shared.member()).refresh), 200)
    expectStatus(await context.call('GET', '/users/me', { as: { token: String(token) } }), 200)
  }),
  mailCheck('refresh.not-replaced', '4.1', 'the refresh token is not replaced, and works again', async (context) => {
    const { refresh } = await context.shared.member()
    const answer = await renew(context, refresh)
    const { refresh: other = refresh } = jsonObject(answer, 200)
    expectEqual('refresh', other, refresh, answer)
    expectStatus(await renew(context, refresh), 200)
  }),
  mailCheck('refresh.access-token', '4.1 rule 3', 'an access token is no refresh token: 401', async (context) => {
    expectRefusal(await renew(context, (await context.shared.member()).token), 401)
  }),
  mailCheck('refresh.verify-token', '4.1 rule 3', 'a verify token is no refresh token: 401', async (context) => {
    expectRefusal(await renew(context, await context.code((await context.register()).email)), 401)
  }),
  mailCheck('refresh.reset-token', '4.1 rule 3', 'a reset token is no refresh token: 401', async (context) => {
    expectRefusal(await renew(context, await context.resetCode((await context.member()).email)), 401)
  }),
  ...badTokenChecks('refresh', { noun: 'token', section: '2.3 rule 2', send: renew }),
  check('refresh.missing', '7', 'no token is answered with 422', async ({ call }) => {
    expectInvalid(await call('POST', '/refresh/', { json: {} }))
  }),
  check('refresh.null', '7', 'null as token is answered with 422', async (context) => {
    expectInvalid(await renew(context, null))
  }),
  ...brokenBodyChecks('refresh', 'POST', '/refresh/'),
  mailCheck('refresh.other-signature', '2.3 rule 4', 'a refresh token with another signature is answered with 401', async (context) => {
    expectRefusal(await renew(context, withOtherSignature((await context.shared.member()).refresh)), 401)
  }),
  mailCheck('refresh.unsecured', '2.3', 'a refresh token without a signature (alg: none) is answered with 401', async (context) => {
    for (const token of unsecured((await context.shared.member()).refresh)) expectRefusal(await renew(context, token), 401)
  }),
  mailCheck('refresh.other-claims', '2.3 rule 4', 'a refresh token with changed claims is answered with 401', async (context) => {
    const { refresh } = await context.shared.member()
    expectRefusal(await renew(context, withClaims(refresh, { exp: 4_000_000_000 })), 401)
  }),
  mailCheck('refresh.banned', '3', 'a banned user cannot refresh', async (context) => {
    const { id, refresh } = await context.member()
    await context.call('POST', `/users/${id}/ban`, { as: context.operator })
    expectRefusal(await renew(context, refresh), [401, 403])
  }),
  mailCheck('refresh.deleted', '3', 'a deleted user cannot refresh', async (context) => {
    const { id, refresh } = await context.member()
    await context.call('DELETE', `/users/${id}`, { as: context.operator })
    expectRefusal(await renew(context, refresh), [401, 404])
  }),
  choice('refresh.empty-401', '2.3 rule 3', 'an empty token is answered with 401', async (context) => {
    expectRefusal(await renew(context, ''), 401)
  }),
  mailChoice('refresh.unbanned', '3', 'the refresh token works again after the ban was lifted', async (context) => {
    const { id, refresh } = await context.member()
    await context.call('POST', `/users/${id}/ban`, { as: context.operator })
    await context.call('POST', `/users/${id}/unban`, { as: context.operator })
    expectStatus(await renew(context, refresh), 200)
  }),
]
