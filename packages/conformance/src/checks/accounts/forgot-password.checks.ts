import { check, choice, mailCheck, mailChoice } from '../../check.ts'
import type { Answer } from '../../client.ts'
import type { Context } from '../../context.ts'
import { expectEqual, expectInvalid, expectStatus, expectThat, jsonObject } from '../../expect.ts'
import { decode, expectAlgorithm, expectLifetime } from '../../tokens.ts'
import { brokenBodyChecks } from '../common.ts'

const RESET_SECONDS = 30 * 60
// They differ from answer to answer.
const CHANGING_HEADERS =
  /^(?:date|age|x-request-id|request-id|x-correlation-id|etag|set-cookie|traceparent|server-timing|x-response-time|x-process-time|x-ratelimit.*|ratelimit.*|connection|keep-alive)$/

const forget = ({ call }: Context, email: unknown) => call('POST', '/forgot-password/', { json: { email } })

function headersOf({ headers }: Answer): string[] {
  return [...headers.keys()].filter((name) => !CHANGING_HEADERS.test(name)).sort()
}

function expectSame(known: Answer, unknown: Answer): void {
  expectEqual('the status and the body', [unknown.status, unknown.text], [known.status, known.text], unknown)
  expectEqual('the headers', headersOf(unknown), headersOf(known), unknown)
}

export const FORGOT_PASSWORD_CHECKS = [
  check('forgot.status', '4.1', 'a known address is answered with 200 and a text in message', async (context) => {
    const answer = await forget(context, (await context.shared.newcomer()).email)
    expectThat(typeof jsonObject(answer, 200)['message'] === 'string', 'a text in message', 'another body', answer)
  }),
  check('forgot.unknown', '4.1 rule 5', 'an unknown address is answered with 200 and a text in message', async (context) => {
    const answer = await forget(context, context.address())
    expectThat(typeof jsonObject(answer, 200)['message'] === 'string', 'a text in message', 'another body', answer)
  }),
  check('forgot.no-enumeration', '4.1 rule 5', 'a known and an unknown address have the same answer', async (context) => {
    expectSame(await forget(context, (await context.shared.newcomer()).email), await forget(context, context.address()))
  }),
  check('forgot.banned', '4.1 rule 5', 'the address of a banned user has the same answer', async (context) => {
    const { email } = await context.register()
    await context.call('POST', `/users/${await context.idOf(email)}/ban`, { as: context.operator })
    expectSame(await forget(context, email), await forget(context, context.address()))
  }),
  check('forgot.deleted', '4.1 rule 5', 'the address of a deleted user has the same answer', async (context) => {
    const { email } = await context.register()
    await context.call('DELETE', `/users/${await context.idOf(email)}`, { as: context.operator })
    expectSame(await forget(context, email), await forget(context, context.address()))
  }),
  check('forgot.missing', '7', 'no email is answered with 422', async ({ call }) => {
    expectInvalid(await call('POST', '/forgot-password/', { json: {} }))
  }),
  check('forgot.null', '7', 'null as email is answered with 422', async (context) => {
    expectInvalid(await forget(context, null))
  }),
  ...brokenBodyChecks('forgot', 'POST', '/forgot-password/'),
  mailCheck('forgot.mail', '4.1 rule 5', 'a reset mail is sent to a user', async (context) => {
    await context.resetCode((await context.member()).email)
  }),
  mailCheck('forgot.token', '2.3', "the mailed token is a JWT signed with HS256, with typ = 'reset'", async (context) => {
    const token = await context.resetCode((await context.member()).email)
    expectAlgorithm(token)
    expectEqual('typ', decode(token).claims['typ'], 'reset')
  }),
  mailCheck('forgot.lifetime', '8', 'the reset token lives 30 minutes', async (context) => {
    expectLifetime(await context.resetCode((await context.member()).email), RESET_SECONDS)
  }),
  mailCheck('forgot.banned-no-mail', '4.1 rule 5', 'a banned user is sent no reset mail', async (context) => {
    const { id, email } = await context.member()
    const before = await context.codes(email)
    await context.call('POST', `/users/${id}/ban`, { as: context.operator })
    await forget(context, email)
    // When a later mail has arrived, this one would have, too.
    await context.resetCode((await context.member()).email)
    expectEqual('the mailed codes', (await context.codes(email)).length, before.length)
  }),
  mailCheck('forgot.unknown-no-mail', '6', 'an unknown address is sent no mail', async (context) => {
    const email = context.address()
    await forget(context, email)
    await context.resetCode((await context.member()).email)
    expectEqual('the mailed codes', (await context.codes(email)).length, 0)
  }),
  choice('forgot.email-invalid', '7', 'a text that is no e-mail address is answered with 422', async (context) => {
    expectInvalid(await forget(context, 'conformance'))
  }),
  mailChoice(
    'forgot.email-case',
    '4.1',
    'the address is found in any upper and lower case, and the mail goes to the stored one',
    async (context) => {
      const { email } = await context.member()
      expectStatus(await forget(context, email.toUpperCase()), 200)
      await context.code(email)
    },
  ),
]
