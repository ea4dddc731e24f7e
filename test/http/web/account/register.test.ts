import assert from 'node:assert/strict'
import { test as plainTest } from 'node:test'
import { member } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { credentials, submit, textOf, visit } from '../../../support/http/pages.ts'

const MIA = { first_name: 'Mia', last_name: 'Muster', email: 'mia@example.com', password: 'correct horse battery' }

test('200: registering creates an unverified account without a session, mails a link, and says what to do', async (t) => {
  const service = await startApp(t)
  const { app, services, mailbox } = service
  const done = await app.inject(submit('/account/register', MIA))
  assert.equal(done.statusCode, 200)
  assert.match(
    textOf(done),
    /Check your email Your account has been created\. We are sending an email to mia@example\.com \. Open the link/,
  )
  assert.equal(done.headers['set-cookie'], undefined)
  const user = await services.userAdministration.find(1)
  assert.deepEqual(
    [user.email, user.firstName, user.lastName, user.verified, user.role],
    ['mia@example.com', 'Mia', 'Muster', false, 'user'],
  )
  assert.deepEqual(await services.sessions.list(1), [])
  const early = await app.inject(submit('/account/sign-in', credentials(MIA)))
  assert.equal(early.statusCode, 401)
  assert.match(textOf(early), /Verify your email address before you sign in/)
  assert.equal((await app.inject(`/verify/?code=${await mailbox.codeFor(MIA.email)}`)).statusCode, 200)
  assert.equal((await app.inject(submit('/account/sign-in', credentials(MIA)))).statusCode, 303)
})

test('400 and 422: the form comes back with what is wrong, and without the password', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const { email } = await member(service)
  const cases: [Record<string, string>, number, RegExp][] = [
    [{ ...MIA, email }, 400, /There is already an account with this email address/],
    [{ ...MIA, email: 'mia' }, 422, /Enter a valid email address/],
    [{ ...MIA, password: 'short12' }, 422, /Password should have at least 8 characters/],
    [{ ...MIA, first_name: ' ' }, 422, /First name is required/],
    [{ ...MIA, last_name: 'x'.repeat(101) }, 422, /Last name should have at most 100 characters/],
    [{}, 422, /is required/],
  ]
  for (const [fields, status, message] of cases) {
    const response = await app.inject(submit('/account/register', fields))
    assert.equal(response.statusCode, status, JSON.stringify(fields))
    assert.match(textOf(response), message)
    assert.match(response.body, /role="alert"/)
    if (fields['password']) assert.ok(!response.body.includes(fields['password']))
    if (fields['first_name'] === 'Mia') assert.match(response.body, /name="first_name"[^>]* value="Mia"/)
  }
})

test('200: asking for a mail says the same for every address, and mails only those who need it', async (t) => {
  const service = await startApp(t)
  const { app, mailbox } = service
  const verified = await member(service)
  const unverified = await member(service, { verified: false })
  for (const path of ['/account/forgot-password', '/account/resend-verification']) {
    const answers = []
    for (const email of [verified.email, unverified.email, 'nobody@example.com']) answers.push(await app.inject(submit(path, { email })))
    assert.deepEqual(new Set(answers.map(({ statusCode }) => statusCode)), new Set([200]))
    assert.equal(new Set(answers.map(({ body }) => body)).size, 1)
    assert.equal((await app.inject(submit(path, { email: 'x' }))).statusCode, 422)
  }
  const subjects = (await mailbox.messages()).map(({ to, subject }) => [to, subject.split(' ')[0]])
  assert.deepEqual(
    subjects.toSorted(),
    [
      [unverified.email, 'Reset'],
      [unverified.email, 'Verify'],
      [verified.email, 'Reset'],
    ].toSorted(),
  )
})

plainTest('429: the limits of the settings count the forms as well', async (t) => {
  const { app } = await startApp(t, { env: { RATE_LIMITS: 'register:ip=2/h,mail:ip=2/h,mail:account=1/h' } })
  const statuses = async (path: string, forms: readonly Record<string, string>[]) => {
    const found = []
    for (const form of forms) found.push((await app.inject(submit(path, form))).statusCode)
    return found
  }
  const people = [1, 2, 3].map((n) => ({ ...MIA, email: `mia${n}@example.com` }))
  assert.deepEqual(await statuses('/account/register', people), [200, 200, 429])
  // The form takes a place in both limits or in none.
  assert.deepEqual(
    await statuses('/account/forgot-password', [people[0] ?? {}, people[0] ?? {}, people[1] ?? {}, people[2] ?? {}]),
    [200, 429, 200, 429],
  )
})

plainTest('422: a password on the list of breached passwords is refused', async (t) => {
  const { app } = await startApp(t, { env: { PASSWORD_BLOCKLIST: 'common' } })
  const refused = await app.inject(submit('/account/register', { ...MIA, password: 'password123' }))
  assert.equal(refused.statusCode, 422)
  assert.match(textOf(refused), /This password is on a list of breached passwords/)
})

plainTest('with FRONTEND_URL, every success page leads on to it', async (t) => {
  const { app } = await startApp(t, { env: { FRONTEND_URL: 'https://app.example.com', API_TITLE: 'Acme' } })
  const way = '<a class="button primary" href="https://app.example.com">Continue to Acme</a>'
  for (const path of ['register', 'forgot-password', 'resend-verification']) {
    assert.ok((await app.inject(submit(`/account/${path}`, MIA))).body.includes(way), path)
    assert.ok(!(await app.inject(visit(`/account/${path}`))).body.includes(way), path)
  }
})
