import assert from 'node:assert/strict'
import { loadConfig } from '../../../src/config/load.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { fingerprints } from '../../../src/security/derived-keys.ts'
import { generateSecretKey } from '../../../src/security/secret-key.ts'
import { codeAt } from '../../../src/security/totp.ts'
import { createServices } from '../../../src/services.ts'
import { statement } from '../../../src/storage/database.ts'
import { member } from '../../support/app/actors.ts'
import { enrol, signInWithCode, WITH_PASSKEYS } from '../../support/app/factors.ts'
import { secondApp, startApp, TEST_SECRET, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'

const ADD_USERS = statement(`
  insert into users (email, email_key, password_hash, first_name, last_name, first_name_folded, last_name_folded, role, created_at)
  with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < $1)
  select 'user-' || n, 'user-' || n, '!', '-', '-', '-', '-', 'user', 0 from numbers`)
const IDS = statement<{ id: number }>(`select id from users where password_hash = '!' order by id`)
const ADD = statement(
  'insert into totp_secrets (user_id, secret, sealed_with, created_at, confirmed_at, last_step, salt) values ($1, $2, $3, 0, 0, 0, $4)',
)
const SEALS = statement<{ sealed_with: string; count: number }>(
  'select sealed_with, count(*) as count from totp_secrets group by sealed_with order by count(*)',
)

/** The same service after a restart with other secrets. */
async function restarted(t: Parameters<typeof secondApp>[0], service: TestApp, current: string, fallbacks = '') {
  const env = { ...WITH_PASSKEYS, SECRET_KEY: current, SECRET_KEY_FALLBACKS: fallbacks }
  const { database } = service.config
  const config = { ...loadConfig({ ...env, DATABASE_URL: 'sqlite:replaced.db' }), database }
  const app = await secondApp(t, { ...service, config })
  const secrets = secretsOf(config)
  return { app, secrets, services: createServices(config, { db: service.db, secrets: () => secrets, now: service.clock.now }) }
}

test('codes work through a rotation of SECRET_KEY, and without the former one once all of them are encrypted again', async (t) => {
  const service = await startApp(t, { env: WITH_PASSKEYS })
  const mia = await member(service)
  const { secret, recoveryCodes } = await enrol(service, mia)
  const { db, clock } = service
  // More than one batch, and one that nobody can open in the middle of it.
  await db.run(ADD_USERS, 250)
  const sealer = service.services.totpSealer
  for (const [index, { id }] of (await db.all(IDS)).entries()) {
    const sealed = sealer.sealFor(id, secret)
    await db.run(ADD, id, index === 50 ? 'damaged' : sealed.secret, sealed.sealedWith, '')
  }
  const code = () => codeAt(secret, Math.floor(clock.now() / 30_000))
  const next = generateSecretKey()
  const during = await restarted(t, service, next, TEST_SECRET)
  assert.equal((await signInWithCode(during, mia, code())).statusCode, 200)
  await during.services.secondFactor.reseal()
  const [current, former] = fingerprints(during.secrets)
  assert.deepEqual(
    (await db.all(SEALS)).map(({ sealed_with, count }) => [sealed_with, Number(count)]),
    [
      [former, 1],
      [current, 250],
    ],
  )
  const after = await restarted(t, service, next)
  clock.advance({ seconds: 30 })
  assert.equal((await signInWithCode(after, mia, code())).statusCode, 200)
  assert.equal((await signInWithCode(after, mia, recoveryCodes[0] ?? '')).statusCode, 200)
})
