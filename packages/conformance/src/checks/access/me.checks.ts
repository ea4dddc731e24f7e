import { check, mailCheck } from '../../check.ts'
import { BASIC_VIEW, expectEqual, expectFields, expectNoSecrets, jsonObject } from '../../expect.ts'

export const ME_CHECKS = [
  check('me.status', '4.3', 'GET /users/me returns the basic view: email, first_name, last_name', async ({ call, operator }) => {
    const answer = await call('GET', '/users/me', { as: operator })
    expectFields(jsonObject(answer, 200), BASIC_VIEW, answer)
  }),
  check('me.no-secrets', '2.1', 'it returns no password, no hash and no API key', async ({ call, operator }) => {
    expectNoSecrets(await call('GET', '/users/me', { as: operator }), {
      names: ['key'],
      values: operator.key === undefined ? [] : [operator.key],
    })
  }),
  mailCheck('me.token', '5 rule 1', 'with a token it returns the user of the token', async ({ call, shared }) => {
    const { token, email, firstName, lastName } = await shared.member()
    const answer = await call('GET', '/users/me', { as: { token } })
    const view = jsonObject(answer, 200)
    expectEqual('the view', [view['email'], view['first_name'], view['last_name']], [email, firstName, lastName], answer)
  }),
  mailCheck('me.key', '5 rule 1', 'with an API key it returns the owner of the key', async ({ call, shared }) => {
    const { key } = await shared.key()
    const answer = await call('GET', '/users/me', { as: { key } })
    expectEqual('email', jsonObject(answer, 200)['email'], (await shared.member()).email, answer)
  }),
]
