import { check, mailCheck, mailChoice } from '../../check.ts'
import type { Context } from '../../context.ts'
import { expectInvalid, expectNoSecrets, expectRefusal, expectStatus, expectThat, expectType, jsonObject } from '../../expect.ts'
import { shapedText, unsecured, withClaims, withOtherSignature } from '../../tokens.ts'
import { badTokenChecks, brokenBodyChecks } from '../common.ts'

type Changed = { readonly code: unknown; readonly new_password: unknown }

const reset = ({ call }: Context, json: Partial<Changed>) => call('POST', '/reset-password/', { json })
const resetByForm = ({ call }: Context, form: Readonly<Record<string, string>>) => call('POST', '/reset-password/', { form })

const resetWith = (context: Context, code: string) => reset(context, { code, new_password: context.password() })

/** A code that resets nothing is refused, and the password stays. */
async function expectKept(context: Context, code: string): Promise<void> {
  expectRefusal(await resetWith(context, code), 401)
}

export const RESET_PASSWORD_CHECKS = [
  mailCheck('reset.status', '4.1', 'a reset by JSON is answered with 200 and a text in message', async (context) => {
    const code = await context.resetCode((await context.member()).email)
    const answer = await reset(context, { code, new_password: context.password() })
    expectThat(typeof jsonObject(answer, 200)['message'] === 'string', 'a text in message', 'another body', answer)
  }),
  mailCheck('reset.new-password', '4.1 rule 6', 'the user can log in with the new password afterwards', async (context) => {
    const { email } = await context.member()
    const password = context.password()
    await reset(context, { code: await context.resetCode(email), new_password: password })
    expectStatus(await context.logIn({ email, password }), 200)
  }),
  mailCheck('reset.old-password', '4.1 rule 6', 'the old password is a wrong one afterwards', async (context) => {
    const account = await context.member()
    await reset(context, { code: await context.resetCode(account.email), new_password: context.password() })
    expectRefusal(await context.logIn(account), 400)
  }),
  mailCheck('reset.no-secrets', '2.1', 'a reset does not return the password', async (context) => {
    const password = context.password()
    const code = await context.resetCode((await context.member()).email)
    expectNoSecrets(await reset(context, { code, new_password: password }), { values: [password] })
  }),
  mailCheck('reset.password-7', '4.1 rule 6', 'a password of 7 characters is answered with 422', async (context) => {
    const code = await context.resetCode((await context.member()).email)
    expectInvalid(await reset(context, { code, new_password: context.password(7) }))
  }),
  mailCheck('reset.password-8', '8', 'a password of 8 characters is accepted', async (context) => {
    const code = await context.resetCode((await context.member()).email)
    expectStatus(await reset(context, { code, new_password: context.password(8) }), 200)
  }),
  check('reset.code-missing', '4.1 rule 6', 'no code is answered with 422', async (context) => {
    expectInvalid(await reset(context, { new_password: context.password() }))
  }),
  check('reset.password-missing', '4.1 rule 6', 'no new_password is answered with 422', async (context) => {
    expectInvalid(await reset(context, { code: shapedText(200) }))
  }),
  check('reset.password-null', '7', 'null as new_password is answered with 422', async (context) => {
    expectInvalid(await reset(context, { code: shapedText(200), new_password: null }))
  }),
  ...brokenBodyChecks('reset', 'POST', '/reset-password/'),
  ...badTokenChecks('reset', { noun: 'code', section: '4.1 rule 6', send: resetWith }),
  mailCheck('reset.verify-token', '4.1 rule 6', 'a verify token is refused with 401', async (context) => {
    await expectKept(context, await context.code((await context.register()).email))
  }),
  check('reset.refresh-token', '4.1 rule 6', 'a refresh token is refused with 401', async (context) => {
    await expectKept(context, (await context.register()).refresh)
  }),
  check('reset.access-token', '4.1 rule 6', 'an access token is refused with 401', async (context) => {
    await expectKept(context, (await context.register()).token)
  }),
  mailCheck('reset.other-signature', '2.3 rule 4', 'a code with another signature is answered with 401', async (context) => {
    await expectKept(context, withOtherSignature(await context.resetCode((await context.member()).email)))
  }),
  mailCheck('reset.unsecured', '2.3', 'a code without a signature (alg: none) is answered with 401', async (context) => {
    for (const token of unsecured(await context.resetCode((await context.member()).email))) await expectKept(context, token)
  }),
  mailCheck('reset.other-claims', '2.3 rule 4', 'a code with changed claims is answered with 401', async (context) => {
    await expectKept(context, withClaims(await context.resetCode((await context.member()).email), { exp: 4_000_000_000 }))
  }),
  mailCheck('reset.banned', '4.1 rule 6', 'the code of a user who was banned meanwhile is answered with 401', async (context) => {
    const { id, email } = await context.member()
    const code = await context.resetCode(email)
    await context.call('POST', `/users/${id}/ban`, { as: context.operator })
    await expectKept(context, code)
  }),
  mailCheck('reset.unknown-user', '4.1 rule 6', 'the code of a deleted user is answered with 404', async (context) => {
    const { id, email } = await context.member()
    const code = await context.resetCode(email)
    await context.call('DELETE', `/users/${id}`, { as: context.operator })
    expectRefusal(await reset(context, { code, new_password: context.password() }), 404)
  }),
  mailCheck('reset.form', '4.1', 'a reset by form data is answered with 200 and an HTML page', async (context) => {
    const { email } = await context.member()
    const password = context.password()
    const answer = await resetByForm(context, { code: await context.resetCode(email), new_password: password })
    expectStatus(answer, 200)
    expectType(answer, 'text/html')
    expectStatus(await context.logIn({ email, password }), 200)
  }),
  mailCheck('reset.form-password-7', '4.1 rule 6', 'a password of 7 characters by form data is answered with 422', async (context) => {
    const code = await context.resetCode((await context.member()).email)
    expectStatus(await resetByForm(context, { code, new_password: context.password(7) }), 422)
  }),
  check('reset.form-malformed', '4.1 rule 6', 'an invalid code by form data is answered with 401', async (context) => {
    expectStatus(await resetByForm(context, { code: shapedText(200), new_password: context.password() }), 401)
  }),
  mailChoice('reset.once', '4.1 rule 6', 'a code that was used is answered with 401', async (context) => {
    const code = await context.resetCode((await context.member()).email)
    await reset(context, { code, new_password: context.password() })
    await expectKept(context, code)
  }),
  mailChoice('reset.kept-code', '4.1 rule 6', 'a code can still be used after a password that was too short', async (context) => {
    const code = await context.resetCode((await context.member()).email)
    await reset(context, { code, new_password: context.password(7) })
    expectStatus(await reset(context, { code, new_password: context.password() }), 200)
  }),
  mailChoice('reset.ends-sessions', '4.1 rule 6', 'a reset ends the access and the refresh tokens of the user at once', async (context) => {
    const { email, token, refresh } = await context.member()
    await reset(context, { code: await context.resetCode(email), new_password: context.password() })
    expectRefusal(await context.call('GET', '/users/me', { as: { token } }), 401)
    expectRefusal(await context.call('POST', '/refresh/', { json: { refresh } }), 401)
  }),
]
