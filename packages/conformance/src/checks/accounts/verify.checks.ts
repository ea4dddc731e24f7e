import { check, choice, mailCheck, mailChoice } from '../../check.ts'
import type { Context } from '../../context.ts'
import { expectEqual, expectInvalid, expectRefusal, expectStatus, expectThat, jsonObject } from '../../expect.ts'
import { unsecured, withClaims, withOtherSignature } from '../../tokens.ts'
import { badTokenChecks } from '../common.ts'

const verify = ({ call }: Context, code: string) => call('GET', '/verify/', { query: { code } })

export const VERIFY_CHECKS = [
  mailCheck('verify.status', '4.1', 'a valid code is answered with 200 and a text in detail', async (context) => {
    const answer = await verify(context, await context.code((await context.register()).email))
    expectThat(typeof jsonObject(answer, 200)['detail'] === 'string', 'a text in detail', 'another body', answer)
  }),
  mailCheck('verify.verified', '3', 'the user is verified afterwards', async (context) => {
    const { email } = await context.register()
    await verify(context, await context.code(email))
    expectEqual('verified', (await context.find(email))['verified'], true)
  }),
  mailCheck('verify.login', '4.1 rule 1', 'the user can log in afterwards', async (context) => {
    const account = await context.register()
    await verify(context, await context.code(account.email))
    expectStatus(await context.logIn(account), 200)
  }),
  mailCheck('verify.used', '4.1 rule 4', 'a code that was used is answered with 401', async (context) => {
    const code = await context.code((await context.register()).email)
    await verify(context, code)
    expectRefusal(await verify(context, code), 401)
  }),
  mailCheck('verify.unknown-user', '4.1 rule 4', 'the code of a deleted user is answered with 404', async (context) => {
    const { email } = await context.register()
    const code = await context.code(email)
    await context.call('DELETE', `/users/${await context.idOf(email)}`, { as: context.operator })
    expectRefusal(await verify(context, code), 404)
  }),
  check('verify.missing', '4.1', 'no code is answered with 422', async ({ call }) => {
    expectInvalid(await call('GET', '/verify/'))
  }),
  ...badTokenChecks('verify', { noun: 'code', section: '4.1 rule 4', send: verify }),
  check('verify.refresh-token', '4.1 rule 4', 'a refresh token verifies nobody: 401', async (context) => {
    const { email, refresh } = await context.register()
    expectRefusal(await verify(context, refresh), 401)
    expectEqual('verified', (await context.find(email))['verified'], false)
  }),
  check('verify.access-token', '4.1 rule 4', 'an access token verifies nobody: 401', async (context) => {
    const { email, token } = await context.register()
    expectRefusal(await verify(context, token), 401)
    expectEqual('verified', (await context.find(email))['verified'], false)
  }),
  mailCheck('verify.reset-token', '4.1 rule 4', 'a reset token verifies nobody: 401', async (context) => {
    expectRefusal(await verify(context, await context.resetCode((await context.member()).email)), 401)
  }),
  mailCheck(
    'verify.other-signature',
    '2.3 rule 4',
    'a code with another signature is answered with 401, and verifies nobody',
    async (context) => {
      const { email } = await context.register()
      expectRefusal(await verify(context, withOtherSignature(await context.code(email))), 401)
      expectEqual('verified', (await context.find(email))['verified'], false)
    },
  ),
  mailCheck(
    'verify.unsecured',
    '2.3',
    'a code without a signature (alg: none) is answered with 401, and verifies nobody',
    async (context) => {
      const { email } = await context.register()
      for (const token of unsecured(await context.code(email))) expectRefusal(await verify(context, token), 401)
      expectEqual('verified', (await context.find(email))['verified'], false)
    },
  ),
  mailCheck('verify.other-claims', '2.3 rule 4', 'a code with changed claims is answered with 401', async (context) => {
    const code = await context.code((await context.register()).email)
    expectRefusal(await verify(context, withClaims(code, { exp: 4_000_000_000 })), 401)
  }),
  choice('verify.empty-401', '4.1 rule 4', 'an empty code is answered with 401', async (context) => {
    expectRefusal(await verify(context, ''), 401)
  }),
  mailChoice('verify.once', '4.1 rule 4', 'exactly one of five requests at the same time succeeds', async (context) => {
    const code = await context.code((await context.register()).email)
    const answers = await Promise.all(Array.from({ length: 5 }, () => verify(context, code)))
    expectEqual('the statuses', answers.map(({ status }) => status).sort(), [200, 401, 401, 401, 401])
  }),
  mailChoice('verify.head', '4.1 rule 4', 'a HEAD request, as mail scanners send it, does not use up the code', async (context) => {
    const code = await context.code((await context.register()).email)
    await context.call('HEAD', '/verify/', { query: { code } })
    expectStatus(await verify(context, code), 200)
  }),
]
