import assert from 'node:assert/strict'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createFollowUps } from '../../../src/domain/changes/follow-ups.ts'
import { ensureAdmin } from '../../../src/domain/sign-in/first-admin.service.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { statement } from '../../../src/storage/database.ts'
import { type Actor, admin, emailChangeCode, keyHolder, member, misspelt } from '../../support/app/actors.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'
import { confirmEmail, newEmail, post, resetPassword } from '../../support/http/requests.ts'

const ON = { env: { SECURITY_NOTICES: 'true' } }
const COUNT_OUTBOX = statement<{ count: number }>('select count(*) as count from outbox')
const GIVE_UP = statement("update outbox set failed_at = 1, attempts = 5, last_error = 'no such mailbox'")

const SUBJECTS = {
  password: 'Your password for Latchkey was changed',
  email: 'The email address of your Latchkey account was changed',
  admin: 'Your Latchkey account is now an admin',
  key: 'An API key of your Latchkey account was found in public',
}

function edit({ app }: TestApp, { headers }: Pick<Actor, 'headers'>, id: number, payload: object) {
  return app.inject({ method: 'PUT', url: `/users/${id}`, headers, payload })
}

function report({ app }: TestApp, keys: readonly string[]) {
  return app.inject(
    post(
      '/auth/leaked',
      keys.map((token) => ({ token, type: 'key', url: 'https://example.com/', source: 'content' })),
    ),
  )
}

/** The mails that were sent, as recipient and subject. */
async function sent({ mailbox }: TestApp): Promise<string[]> {
  return (await mailbox.messages()).map(({ to, subject }) => `${to}: ${subject}`)
}

type Change = { readonly notice: keyof typeof SUBJECTS; make(service: TestApp, mia: Actor): Promise<unknown> }

/** Every change that its owner gets a mail about. */
const CHANGES: Readonly<Record<string, Change>> = {
  'a password in an edit': { notice: 'password', make: (service, mia) => edit(service, mia, mia.id, { password: 'a new password' }) },
  'a password that an admin sets': {
    notice: 'password',
    make: async (service, mia) =>
      service.app.inject({ ...post(`/users/${mia.id}/password`, { password: 'a new password' }), headers: jsonOf(await admin(service)) }),
  },
  'a password reset': {
    notice: 'password',
    make: (service, mia) => service.app.inject(resetPassword({ code: service.services.tokens.forMail('reset', mia.id, mia.resetVersion) })),
  },
  'a new address': { notice: 'email', make: (service, mia) => edit(service, mia, mia.id, { email: newEmail() }) },
  'a confirmed new address': {
    notice: 'email',
    // The mail with the link is dropped: the link has been used before it was sent.
    make: async (service, mia) => service.app.inject(confirmEmail(await emailChangeCode(service, mia))),
  },
  'a new admin role': {
    notice: 'admin',
    make: async (service, mia) =>
      service.app.inject({ method: 'POST', url: `/users/${mia.id}/make-admin`, headers: (await admin(service)).headers }),
  },
  'a leaked key': { notice: 'key', make: async (service, mia) => report(service, [(await keyHolder(service, mia)).key]) },
}

function jsonOf({ headers }: Actor): Record<string, string> {
  return { ...headers, 'content-type': 'application/json' }
}

for (const [name, { notice, make }] of Object.entries(CHANGES)) {
  test(`${name} mails the owner, at the address that the account had`, async (t) => {
    const service = await startApp(t, ON)
    const mia = await member(service, { email: `Mia.${newEmail()}` })
    await make(service, mia)
    assert.deepEqual(await sent(service), [`${mia.email}: ${SUBJECTS[notice]}`])
    assert.equal((await service.db.first(COUNT_OUTBOX))?.count, 0)
  })
}

test('without the setting no change mails anybody', async (t) => {
  const service = await startApp(t)
  for (const { make } of Object.values(CHANGES)) await make(service, await member(service))
  assert.deepEqual(await sent(service), [])
})

test('a new password and a new address in one edit are both reported to the former address', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  await edit(service, mia, mia.id, { email: newEmail(), password: 'password of the intruder' })
  assert.deepEqual((await sent(service)).sort(), [`${mia.email}: ${SUBJECTS.email}`, `${mia.email}: ${SUBJECTS.password}`].sort())
})

test('a notice reaches the former address also if it is sent after the account was changed and deleted', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  await edit(service, mia, mia.id, { password: 'password of the intruder' })
  await edit(service, mia, mia.id, { email: newEmail() })
  await service.services.userAdministration.remove(OPERATOR, mia.id)
  assert.deepEqual((await sent(service)).sort(), [`${mia.email}: ${SUBJECTS.email}`, `${mia.email}: ${SUBJECTS.password}`].sort())
})

test('nothing is mailed about a change that does nothing or is refused', async (t) => {
  const service = await startApp(t, ON)
  const [boss, mia] = [await admin(service), await member(service)]
  await edit(service, mia, mia.id, { email: mia.email, first_name: 'Maria' })
  await edit(service, mia, mia.id, { email: boss.email, password: 'a new password' })
  await service.app.inject({ method: 'POST', url: `/users/${boss.id}/make-admin`, headers: boss.headers })
  await edit(service, mia, boss.id, { password: 'a new password' })
  const { key } = await keyHolder(service, mia)
  await report(service, [misspelt(key)])
  assert.equal((await service.db.first(COUNT_OUTBOX))?.count, 0)
  assert.deepEqual(await sent(service), [])
})

test('several keys that leak at once are named in one mail, and one that leaks later in another', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const keys = [
    await keyHolder(service, mia, { name: 'ci' }),
    await keyHolder(service, mia, { name: 'backup' }),
    await keyHolder(service, mia, { name: 'later' }),
  ]
  await report(
    service,
    keys.slice(0, 2).map(({ key }) => key),
  )
  const [mail, ...others] = await service.mailbox.messages()
  assert.deepEqual(others, [])
  for (const [index, name] of ['ci', 'backup'].entries())
    assert.ok(mail?.text.includes(`- ${name} (${keys[index]?.key.slice(0, 9)}…)\n`), name)
  for (const { key } of keys) assert.ok(!mail?.text.includes(key))
  await report(
    service,
    keys.map(({ key }) => key),
  )
  const second = (await service.mailbox.messages()).at(-1)
  assert.ok(second?.text.includes('- later (') && !second.text.includes('- ci ('))
})

test('a notice that was given up is tried again after the next change', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  await edit(service, mia, mia.id, { password: 'a new password' })
  await service.db.run(GIVE_UP)
  assert.deepEqual(await sent(service), [])
  await edit(service, mia, mia.id, { password: 'a newer password' })
  assert.deepEqual(await sent(service), [`${mia.email}: ${SUBJECTS.password}`])
})

test('a start that promotes an existing account mails its owner', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const { db, clock, config, passwords } = service
  const followUps = () => createFollowUps({ ...config, secrets: secretsOf(config) })
  const changes = createChanges({ db, now: clock.now, followUps, onEvent: () => undefined })
  const start = () =>
    ensureAdmin(
      { changes, passwords, now: clock.now },
      { caller: 'operator', origin: { via: 'start' } },
      { email: mia.email, password: 'correct horse' },
    )
  await start()
  await start()
  assert.deepEqual(await sent(service), [`${mia.email}: ${SUBJECTS.admin}`])
})
