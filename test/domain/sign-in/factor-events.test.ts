import assert from 'node:assert/strict'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createServices } from '../../../src/services.ts'
import { statement } from '../../../src/storage/database.ts'
import { admin, member } from '../../support/app/actors.ts'
import { storedKinds } from '../../support/app/audit.ts'
import { addPasskey, askForPasskey, caller, firstStep, secondStep, turnOn } from '../../support/app/second-factor.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { ORIGIN } from '../../support/http/origins.ts'
import { WEBHOOK_SECRET } from '../../support/servers/webhook-receiver.ts'

const KINDS = ['factor.added', 'factor.removed', 'factor.reset', 'factor.failed', 'passkey.added', 'passkey.removed']
const DELIVERIES = statement<{ type: string; user_id: number }>('select type, user_id from webhook_deliveries order by id')
const MAILS = statement<{ kind: string; recipient: string }>('select kind, recipient from outbox order by id')

test('every change of a second factor is in the trail, is sent as a webhook, and its owner gets a mail', async (t) => {
  const env = {
    SECURITY_NOTICES: 'true',
    WEBHOOK_URL: 'https://hooks.example.com/',
    WEBHOOK_SECRET,
    WEBHOOK_EVENTS: KINDS.join(','),
    METRICS_ENABLED: 'true',
  }
  const service = await startApp(t, { env })
  const boss = await admin(service)
  const mia = await member(service)
  const call = caller(service, mia)
  const { recoveryCodes } = await turnOn(service, mia)
  const { authenticator, id } = await addPasskey(service, mia)
  const challenge = await firstStep(service, mia)
  assert.equal((await secondStep(service, { challenge, code: '000000' })).statusCode, 401)
  assert.equal((await secondStep(service, { challenge, code: recoveryCodes[0] })).statusCode, 200)
  const credential = authenticator.get(await askForPasskey(service))
  for (const status of [200, 401])
    assert.equal((await service.app.inject({ method: 'POST', url: '/login/passkey', payload: { credential } })).statusCode, status)
  await call('DELETE', `/users/me/passkeys/${id}`)
  await call('DELETE', '/users/me/second-factor/totp')
  await caller(service, boss)('DELETE', `/users/${mia.id}/second-factor`)
  const metrics = (await service.app.inject('/metrics')).body
  const counted = metrics.split('\n').filter((line) => line.startsWith('latchkey_second_factor_attempts_total{'))
  const mails = (await service.db.all(MAILS)).filter(({ recipient }) => recipient.includes(mia.email)).map(({ kind }) => kind)
  await service.app.close()
  const expected = ['factor.added', 'passkey.added', 'passkey.removed', 'factor.removed', 'factor.reset', 'factor.failed']
  const kinds = (await storedKinds(service.db)).filter((text) => /^(?:factor|passkey)\./.test(text))
  assert.deepEqual(
    kinds,
    expected.map((kind) => `${kind} ${mia.id}`),
  )
  const sent = await service.db.all(DELIVERIES)
  assert.deepEqual(
    sent.map(({ type }) => type),
    expected,
  )
  assert.deepEqual(mails.sort(), [
    'factor_added',
    'factor_removed',
    'factor_reset',
    'passkey_added',
    'passkey_removed',
    'recovery_code_used',
  ])
  for (const line of [
    'method="totp",status="invalid"} 1',
    'method="recovery_code",status="success"} 1',
    'method="passkey",status="success"} 1',
    'method="passkey",status="invalid"} 1',
  ])
    assert.ok(
      counted.some((text) => text.endsWith(line)),
      `${line} in ${counted.join('\n')}`,
    )
})

test('a used recovery code wakes the mail dispatcher after its commit, at a login and at a confirmation', async (t) => {
  const service = await startApp(t)
  const { db, config, clock, passwords } = service
  const mia = await member(service)
  const { code, recoveryCodes } = await turnOn(service, mia)
  const [first = '', second = '', third = ''] = recoveryCodes
  for (const securityNotices of [true, false]) {
    const found: Promise<readonly { kind: string }[]>[] = []
    const onMailQueued = () => void found.push(db.all(MAILS))
    const parts = { db, secrets: () => secretsOf(config), now: clock.now, passwords, onMailQueued }
    const { login, limiter, authentication } = createServices({ ...config, securityNotices }, parts)
    const enter = async (given: string) => login.api.bySecondStep(ORIGIN, await firstStep(service, mia), { code: given })
    await enter(securityNotices ? first : second)
    const noticed = securityNotices ? ['recovery_code_used'] : []
    const kinds = async () => (await Promise.all(found)).flat().map(({ kind }) => kind)
    assert.deepEqual(await kinds(), noticed)
    if (!securityNotices) continue
    await enter(code())
    assert.equal(found.length, 1, 'a code of the app sends no mail')
    const actor = { origin: ORIGIN, caller: await authentication.byToken(mia.token) }
    await login.confirm(actor, { code: third }, limiter)
    assert.equal(found.length, 2)
  }
})
