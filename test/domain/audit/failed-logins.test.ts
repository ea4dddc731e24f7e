import assert from 'node:assert/strict'
import { member } from '../../support/app/actors.ts'
import { storedEvents } from '../../support/app/audit.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { ORIGIN } from '../../support/http/origins.ts'
import { login, newEmail, PASSWORD } from '../../support/http/requests.ts'

async function failures({ db }: TestApp): Promise<unknown[]> {
  const events = (await storedEvents(db)).filter(({ kind }) => kind === 'login.failed')
  return events.map(({ target, actor, via, ip, detail }) => ({ target, actor, via, ip, ...JSON.parse(detail ?? '{}') }))
}

async function failToLogIn({ services }: TestApp, email: string, ip: string): Promise<void> {
  await assert.rejects(services.login.api.byPassword({ ...ORIGIN, ip }, email, 'wrong password'), { name: 'Refusal' })
}

test('failed logins of an account are counted together, and written once in ten minutes', async (t) => {
  const service = await startApp(t)
  const { failedLogins } = service.services
  const mia = await member(service)
  const event = { target: mia.id, actor: null, via: 'http' }
  for (const ip of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) await failToLogIn(service, mia.email, ip)
  assert.deepEqual(await failures(service), [])
  await failedLogins.flush()
  assert.deepEqual(await failures(service), [{ ...event, ip: '192.0.2.3', count: 3 }])
  await failToLogIn(service, mia.email, '192.0.2.4')
  service.clock.advance({ minutes: 9 })
  await failToLogIn(service, mia.email, '192.0.2.5')
  await failedLogins.flush()
  assert.equal((await failures(service)).length, 1)
  service.clock.advance({ minutes: 1 })
  await failedLogins.flush()
  assert.deepEqual((await failures(service)).slice(1), [{ ...event, ip: '192.0.2.5', count: 2 }])
  service.clock.advance({ minutes: 10 })
  await failedLogins.flush()
  assert.equal((await failures(service)).length, 2)
})

test('a login to a banned or unverified account is a failed login, one without an account leaves no event', async (t) => {
  const service = await startApp(t)
  const unverified = await member(service, { verified: false })
  await assert.rejects(service.services.login.api.byPassword(ORIGIN, unverified.email, PASSWORD), { code: 'login_unverified' })
  await failToLogIn(service, newEmail(), '192.0.2.1')
  await service.services.failedLogins.flush()
  assert.deepEqual(await failures(service), [{ target: unverified.id, actor: null, via: 'http', ip: null, count: 1 }])
})

test('failed logins that could not be written are counted on', async (t) => {
  const service = await startApp(t)
  const { failedLogins } = service.services
  const mia = await member(service)
  await failToLogIn(service, mia.email, '192.0.2.1')
  const { transaction } = service.db
  service.db.transaction = async () => assert.fail('the database is unavailable')
  await assert.rejects(failedLogins.flush(), { message: 'the database is unavailable' })
  service.db.transaction = transaction
  await failToLogIn(service, mia.email, '192.0.2.2')
  await failedLogins.flush()
  assert.deepEqual(await failures(service), [{ target: mia.id, actor: null, via: 'http', ip: '192.0.2.2', count: 2 }])
})

test('failed logins are written when the service stops', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { statusCode } = await service.app.inject(login({ email: mia.email, password: 'wrong password' }))
  assert.equal(statusCode, 400)
  await service.app.close()
  assert.deepEqual(await failures(service), [{ target: mia.id, actor: null, via: 'http', ip: '127.0.0.1', count: 1 }])
})
