import assert from 'node:assert/strict'
import { createServices } from '../../../src/services.ts'
import { statement } from '../../../src/storage/database.ts'
import { member } from '../../support/app/actors.ts'
import { refused } from '../../support/app/assertions.ts'
import { addPasskey, askForPasskey, firstStep, secondStep, turnOn } from '../../support/app/second-factor.ts'
import { secondApp, startApp, TEST_SECRET, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const NEW_SECRET = encode('mW4kP8sT2vX6yB9eH3jL7nQ1rU5zA0cD')
const OLD_SECRET = encode(TEST_SECRET)
const SEALS = statement<{ sealed_with: string }>('select distinct sealed_with from totp_secrets')
const BREAK = statement("update totp_secrets set secret = 'v1.broken' where user_id = $1")

/** The service after it was started again, with other secrets. */
const rotated = (service: TestApp, ...fallbacks: Uint8Array[]): TestApp => ({
  ...service,
  config: { ...service.config, secretKey: NEW_SECRET, secretKeyFallbacks: fallbacks },
})

test('200: both steps work across a restart with a new SECRET_KEY, and so do the questions that passkeys answer', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code } = await turnOn(service, mia)
  const { authenticator } = await addPasskey(service, mia)
  const challenge = await firstStep(service, mia)
  const options = await askForPasskey(service)
  const app = await secondApp(t, rotated(service, OLD_SECRET))
  const credential = authenticator.get(options)
  assert.equal((await app.inject({ method: 'POST', url: '/login/passkey', payload: { credential } })).statusCode, 200)
  assert.equal((await secondStep({ app }, { challenge, code: code() })).statusCode, 200)
  service.clock.advance({ seconds: 30 })
  const without = { app: await secondApp(t, rotated(service)) }
  refused(await secondStep(without, { challenge: await firstStep(without, mia), code: code() }), 401, 'Invalid code')
})

test('housekeeping encrypts every secret with the new SECRET_KEY, also after one that cannot be opened', async (t) => {
  const service = await startApp(t)
  const [broken, mia] = [await member(service), await member(service)]
  await turnOn(service, broken)
  const { code } = await turnOn(service, mia)
  await service.db.run(BREAK, broken.id)
  const { config } = rotated(service, OLD_SECRET)
  const { db, clock } = service
  const services = createServices(config, { db, secrets: () => [NEW_SECRET, OLD_SECRET], now: clock.now })
  await services.secondFactor.reseal()
  assert.equal((await db.all(SEALS)).length, 2)
  const without = { app: await secondApp(t, rotated(service)) }
  assert.equal((await secondStep(without, { challenge: await firstStep(without, mia), code: code() })).statusCode, 200)
})
