import type { Account } from '../../accounts.ts'
import { check, choice, mailCheck, mailChoice } from '../../check.ts'
import type { Context } from '../../context.ts'
import {
  BASIC_VIEW,
  expectEqual,
  expectFields,
  expectInvalid,
  expectNoSecrets,
  expectNoSuchPath,
  expectRefusal,
  expectRefused,
  expectStatus,
  expectThat,
  jsonObject,
} from '../../expect.ts'
import { brokenBodyChecks, unknownId } from '../common.ts'

type Body = Readonly<Record<string, unknown>>

/** All four fields, because the specification does not say which are required. */
function edited({ email, password }: Pick<Account, 'email' | 'password'>, changes: Body = {}): Body {
  return { email, password, first_name: 'Edited', last_name: 'Name', ...changes }
}

/** No e-mail address, but it still contains the marker. */
const withoutAt = (address: string) => address.replace('@', '.')

async function editByAdmin(context: Context, changes: Body): Promise<{ account: Account; answer: Awaited<ReturnType<Context['call']>> }> {
  const account = await context.register()
  const answer = await context.call('PUT', `/users/${await context.idOf(account.email)}`, {
    as: context.operator,
    json: edited(account, changes),
  })
  return { account, answer }
}

export const EDIT_CHECKS = [
  check('edit.admin', '4.3', 'an admin edits another user: 200 with the basic view', async (context) => {
    const { answer, account } = await editByAdmin(context, {})
    const view = expectFields(jsonObject(answer, 200), BASIC_VIEW, answer)
    expectEqual('the view', [view['email'], view['first_name'], view['last_name']], [account.email, 'Edited', 'Name'], answer)
  }),
  check('edit.stored', '4.3', 'an edit is stored', async (context) => {
    const { account } = await editByAdmin(context, {})
    const { first_name, last_name } = await context.find(account.email)
    expectEqual('the names', [first_name, last_name], ['Edited', 'Name'])
  }),
  check('edit.email', '4.3', 'the e-mail address can be changed', async (context) => {
    const email = context.address()
    const { account } = await editByAdmin(context, { email })
    expectEqual('the id of the new address', (await context.find(email))['id'], await context.idOf(account.email))
  }),
  check('edit.no-secrets', '2.1', 'an edit returns no password and no hash', async (context) => {
    const password = context.password()
    expectNoSecrets((await editByAdmin(context, { password })).answer, { values: [password] })
  }),
  mailCheck('edit.self', '4.3', 'a user edits their own account: 200 with the basic view', async (context) => {
    const account = await context.member()
    const answer = await context.call('PUT', `/users/${account.id}`, { as: account, json: edited(account) })
    expectEqual('first_name', expectFields(jsonObject(answer, 200), BASIC_VIEW, answer)['first_name'], 'Edited', answer)
  }),
  mailCheck('edit.password', '4.3', 'a new password replaces the old one', async (context) => {
    const account = await context.member()
    const password = context.password()
    expectStatus(await context.call('PUT', `/users/${account.id}`, { as: account, json: edited(account, { password }) }), 200)
    expectStatus(await context.logIn({ email: account.email, password }), 200)
    expectRefusal(await context.logIn(account), 400)
  }),
  mailCheck('edit.privileges', '4.3', 'role, banned and verified in the body change nothing', async (context) => {
    const account = await context.member()
    await context.call('PUT', `/users/${account.id}`, {
      as: account,
      json: edited(account, { role: 'admin', banned: true, verified: false, id: 1 }),
    })
    const { id, role, banned, verified } = await context.find(account.email)
    expectThat(
      role !== 'admin' && !banned && verified === true && id === account.id,
      'an unchanged role and state',
      JSON.stringify({ role, banned, verified }),
    )
  }),
  mailCheck('edit.other', '4.3', "another user's account is refused with 403 'Not enough permissions'", async (context) => {
    const victim = await context.shared.other()
    const answer = await context.call('PUT', `/users/${victim.id}`, { as: await context.shared.member(), json: edited(victim) })
    expectRefusal(answer, 403, 'Not enough permissions')
    expectEqual('first_name', (await context.find(victim.email))['first_name'], victim.firstName)
  }),
  check('edit.unknown', '7', "an unknown user is answered with 404 'User not Found'", async (context) => {
    const json = edited({ email: context.address(), password: context.password() })
    expectRefusal(await context.call('PUT', `/users/${unknownId()}`, { as: context.operator, json }), 404, 'User not Found')
  }),
  check('edit.id-text', '4.3', 'a text as user_id is refused with 422 or 404', async (context) => {
    const json = edited({ email: context.address(), password: context.password() })
    expectNoSuchPath(await context.call('PUT', '/users/abc', { as: context.operator, json }))
  }),
  check('edit.password-7', '8', 'a password of 7 characters is answered with 422', async (context) => {
    expectInvalid((await editByAdmin(context, { password: context.password(7) })).answer)
  }),
  check('edit.password-8', '8', 'a password of 8 characters is accepted', async (context) => {
    expectStatus((await editByAdmin(context, { password: context.password(8) })).answer, 200)
  }),
  check('edit.email-invalid', '2.1', 'a text that is no e-mail address is answered with 422', async (context) => {
    expectInvalid((await editByAdmin(context, { email: withoutAt(context.address()) })).answer)
  }),
  check('edit.name-object', '7', 'an object as first_name is answered with 422', async (context) => {
    expectInvalid((await editByAdmin(context, { first_name: {} })).answer)
  }),
  check('edit.refused-changes-nothing', '7', 'an edit that is answered with 422 changes nothing', async (context) => {
    const { account } = await editByAdmin(context, { email: withoutAt(context.address()) })
    expectEqual('first_name', (await context.find(account.email))['first_name'], account.firstName)
  }),
  check('edit.taken', '4.3', 'the e-mail address of another user is refused', async (context) => {
    const { email } = await context.shared.newcomer()
    expectRefused((await editByAdmin(context, { email })).answer)
  }),
  ...brokenBodyChecks('edit', 'PUT', '/users/1').map((declared) => ({
    ...declared,
    run: async (context: Context) => {
      const { email } = await context.shared.newcomer()
      const id = await context.idOf(email)
      const call: Context['call'] = (method, _, options) => context.call(method, `/users/${id}`, { ...options, as: context.operator })
      await declared.run({ ...context, call })
    },
  })),
  choice('edit.taken-400', '4.3', 'the e-mail address of another user is answered with 400', async (context) => {
    expectStatus((await editByAdmin(context, { email: (await context.shared.newcomer()).email })).answer, 400)
  }),
  mailChoice('edit.partial', '4.3', 'one field alone can be changed', async (context) => {
    const account = await context.member()
    const answer = await context.call('PUT', `/users/${account.id}`, { as: account, json: { last_name: 'Alone' } })
    const { first_name, last_name } = jsonObject(answer, 200)
    expectEqual('the names', [first_name, last_name], [account.firstName, 'Alone'], answer)
  }),
]
