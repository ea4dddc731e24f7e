import assert from 'node:assert/strict'
import { findUserByEmail } from '../../../../src/storage/repositories/users/user.repository.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { login, newEmail, PASSWORD, register } from '../../../support/http/requests.ts'

test('201: a registration returns two tokens and creates an unverified account', async (t) => {
  const { app, db, services } = await startApp(t)
  const response = await app.inject(register({ email: 'Mia.Muster@Example.COM' }))
  assert.equal(response.statusCode, 201)
  const body = response.json()
  assert.deepEqual(Object.keys(body).sort(), ['refresh', 'token'])
  const user = await findUserByEmail(db, 'mia.muster@example.com')
  assert.ok(user)
  const { id, email, firstName, lastName, role, banned, verified } = user
  assert.deepEqual(
    { email, firstName, lastName, role, banned, verified },
    { email: 'Mia.Muster@example.com', firstName: 'Mia', lastName: 'Muster', role: 'user', banned: false, verified: false },
  )
  assert.equal(services.tokens.read(body.token, 'access').userId, id)
  assert.equal(services.tokens.read(body.refresh, 'refresh').userId, id)
})

test('201: a registration sends one verification mail to the address as typed', async (t) => {
  const { app, mailbox } = await startApp(t)
  await app.inject(register({ email: 'Mia.Muster@example.com' }))
  const messages = await mailbox.messages()
  assert.deepEqual(
    messages.map(({ to }) => to),
    ['Mia.Muster@example.com'],
  )
})

test('201: names and the address are trimmed, the password is not', async (t) => {
  const { app, db, mailbox } = await startApp(t)
  const email = newEmail()
  const password = '  pass word\t '
  assert.equal(
    (await app.inject(register({ email: ` ${email} `, password, first_name: '  Ana María ', last_name: ' O’Neill ' }))).statusCode,
    201,
  )
  const user = await findUserByEmail(db, email)
  assert.deepEqual([user?.firstName, user?.lastName], ['Ana María', 'O’Neill'])
  await app.inject({ url: await mailbox.linkFor(email) })
  assert.equal((await app.inject(login({ email, password }))).statusCode, 200)
  assert.equal((await app.inject(login({ email, password: password.trim() }))).statusCode, 400)
})

test('201: role, verified, banned and id in the body are ignored', async (t) => {
  const { app, db } = await startApp(t)
  const email = newEmail()
  const response = await app.inject(
    register({ email, role: 'admin', verified: true, banned: true, id: 4711, user_id: 4711, is_admin: true }),
  )
  assert.equal(response.statusCode, 201)
  const user = await findUserByEmail(db, email)
  assert.deepEqual([user?.role, user?.verified, user?.banned], ['user', false, false])
  assert.notEqual(user?.id, 4711)
})

test('201: the tokens of a registration work once the address is verified', async (t) => {
  const { app, mailbox } = await startApp(t)
  const email = newEmail()
  const { token } = (await app.inject(register({ email }))).json()
  const logout = { method: 'POST', url: '/logout/', headers: { authorization: `Bearer ${token}` } } as const
  refused(await app.inject(logout), 401, 'That token is Invalid')
  await app.inject({ url: await mailbox.linkFor(email) })
  assert.equal((await app.inject(logout)).statusCode, 204)
})

test('400: an address cannot be registered twice, in any case, and the existing account is not changed', async (t) => {
  const { app, db, mailbox } = await startApp(t)
  await app.inject(register({ email: 'mia@example.com' }))
  const before = await findUserByEmail(db, 'mia@example.com')
  refused(await app.inject(register({ email: 'MIA@EXAMPLE.COM', first_name: 'Eve' })), 400, 'A User with this email already exists')
  assert.deepEqual(await findUserByEmail(db, 'mia@example.com'), before)
  assert.equal((await mailbox.messages()).length, 1)
})

test('422: every validation error is reported at once, without the submitted values', async (t) => {
  const { app, mailbox } = await startApp(t)
  const response = await app.inject(register({ email: 'canary-no-address', password: 'canary7', first_name: '', last_name: 12 }))
  invalid(
    response,
    { loc: ['body', 'email'], type: 'value_error' },
    { loc: ['body', 'password'], type: 'string_too_short' },
    { loc: ['body', 'first_name'], type: 'string_too_short' },
    { loc: ['body', 'last_name'], type: 'string_type' },
  )
  assert.ok(!response.body.includes('canary'))
  assert.equal((await mailbox.messages()).length, 0)
})

test('422: each field is required', async (t) => {
  const { app } = await startApp(t)
  const fields = ['email', 'password', 'first_name', 'last_name']
  invalid(
    await app.inject({ method: 'POST', url: '/register/', payload: {} }),
    ...fields.map((name) => ({ loc: ['body', name], type: 'missing' })),
  )
})

test('201, 422: a password has 8 to 256 code points', async (t) => {
  const { app } = await startApp(t)
  const cases: [string, number][] = [
    ['1234567', 422],
    ['12345678', 201],
    ['🔑'.repeat(7), 422],
    ['🔑'.repeat(8), 201],
    ['🔑'.repeat(256), 201],
    ['x'.repeat(257), 422],
  ]
  for (const [password, status] of cases) {
    assert.equal((await app.inject(register({ password }))).statusCode, status, `${password.length} UTF-16 code units`)
  }
})

test('422: an invalid address is refused', async (t) => {
  const { app } = await startApp(t)
  const wrong = [
    'a@x.io,b@y.io',
    'a@x.io b@y.io',
    'a@x.io;b@y.io',
    '<a@x.io>',
    'Mia <a@x.io>',
    '"a b"@x.io',
    'a@x',
    'a@@x.io',
    '@x.io',
    'a@',
    '',
  ]
  const odd = [
    'a..b@x.io',
    '.a@x.io',
    'a.@x.io',
    'ä@x.io',
    'a@ä.io',
    'a@-x.io',
    'a@x-.io',
    'a@.io',
    'a@x..io',
    'a@[127.0.0.1]',
    'a\u0000@x.io',
    'a@x.io\n',
  ]
  const long = [`${'a'.repeat(65)}@x.io`, `a@${'b'.repeat(64)}.io`, `a@${'b.'.repeat(130)}io`]
  for (const email of [...wrong, ...odd, ...long]) {
    invalid(await app.inject(register({ email })), { loc: ['body', 'email'], type: 'value_error' })
  }
})

test('201: unusual but valid addresses are accepted', async (t) => {
  const { app } = await startApp(t)
  const unusual = [
    "o'neill+tag@sub.example.com",
    'a@b.test',
    `${'a'.repeat(64)}@example.com`,
    'x_y-z@xn--bcher-kva.example',
    '{}|~@example.com',
  ]
  for (const email of unusual) assert.equal((await app.inject(register({ email }))).statusCode, 201, email)
})

test('422: a registration as form data is refused', async (t) => {
  const { app } = await startApp(t)
  const payload = `email=${newEmail()}&password=${PASSWORD}&first_name=Mia&last_name=M`
  const response = await app.inject({
    method: 'POST',
    url: '/register/',
    payload,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  invalid(response, { loc: ['body'], type: 'model_attributes_type' })
})
