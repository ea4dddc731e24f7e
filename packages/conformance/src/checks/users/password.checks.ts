import { check, mailCheck, mailChoice } from '../../check.ts'
import type { Context } from '../../context.ts'
import { expectEmpty, expectInvalid, expectNoSuchPath, expectRefusal, expectStatus } from '../../expect.ts'
import { unknownId } from '../common.ts'

async function setByAdmin(context: Context, json: unknown): ReturnType<Context['call']> {
  const { email } = await context.register()
  return context.call('POST', `/users/${await context.idOf(email)}/password`, { as: context.operator, json })
}

export const PASSWORD_CHECKS = [
  mailCheck('password.self', '4.3', 'a user changes their own password: 204 without a body', async (context) => {
    const account = await context.member()
    expectEmpty(await context.call('POST', `/users/${account.id}/password`, { as: account, json: { password: context.password() } }), 204)
  }),
  mailCheck('password.new', '4.3', 'the new password logs in, and the old one is a wrong one', async (context) => {
    const account = await context.member()
    const password = context.password()
    await context.call('POST', `/users/${account.id}/password`, { as: account, json: { password } })
    expectStatus(await context.logIn({ email: account.email, password }), 200)
    expectRefusal(await context.logIn(account), 400)
  }),
  check('password.admin', '4.3', 'an admin changes the password of another user: 204 without a body', async (context) => {
    expectEmpty(await setByAdmin(context, { password: context.password() }), 204)
  }),
  mailCheck('password.admin-new', '4.3', 'the password that an admin has set logs in', async (context) => {
    const { id, email } = await context.member()
    const password = context.password()
    await context.call('POST', `/users/${id}/password`, { as: context.operator, json: { password } })
    expectStatus(await context.logIn({ email, password }), 200)
  }),
  mailCheck('password.other', '4.3', "another user's password is refused with 403 'Not enough permissions'", async (context) => {
    const victim = await context.shared.other()
    const json = { password: context.password() }
    const answer = await context.call('POST', `/users/${victim.id}/password`, { as: await context.shared.member(), json })
    expectRefusal(answer, 403, 'Not enough permissions')
    expectStatus(await context.logIn(victim), 200)
  }),
  check('password.password-7', '8', 'a password of 7 characters is answered with 422', async (context) => {
    expectInvalid(await setByAdmin(context, { password: context.password(7) }))
  }),
  check('password.password-8', '8', 'a password of 8 characters is accepted', async (context) => {
    expectStatus(await setByAdmin(context, { password: context.password(8) }), 204)
  }),
  check('password.missing', '7', 'no password is answered with 422', async (context) => {
    expectInvalid(await setByAdmin(context, {}))
  }),
  check('password.null', '7', 'null as password is answered with 422', async (context) => {
    expectInvalid(await setByAdmin(context, { password: null }))
  }),
  check('password.unknown', '7', "an unknown user is answered with 404 'User not Found'", async ({ call, operator, password }) => {
    const answer = await call('POST', `/users/${unknownId()}/password`, { as: operator, json: { password: password() } })
    expectRefusal(answer, 404, 'User not Found')
  }),
  check('password.id-text', '4.3', 'a text as user_id is refused with 422 or 404', async ({ call, operator, password }) => {
    expectNoSuchPath(await call('POST', '/users/abc/password', { as: operator, json: { password: password() } }))
  }),
  mailChoice(
    'password.ends-sessions',
    '4.3',
    "a change ends the user's other tokens at once, and not the caller's own",
    async (context) => {
      const account = await context.member()
      const answer = await context.logIn(account)
      const other = (answer.json as { token?: string } | undefined)?.token ?? ''
      await context.call('POST', `/users/${account.id}/password`, { as: account, json: { password: context.password() } })
      expectStatus(await context.call('GET', '/users/me', { as: account }), 200)
      expectRefusal(await context.call('GET', '/users/me', { as: { token: other } }), 401)
    },
  ),
  mailChoice('password.keeps-keys', '4.3', 'an API key survives a change of the password', async (context) => {
    const account = await context.member()
    const { key } = await context.createKey(account)
    await context.call('POST', `/users/${account.id}/password`, { as: account, json: { password: context.password() } })
    expectStatus(await context.call('GET', '/users/me', { as: { key } }), 200)
  }),
]
