import assert from 'node:assert/strict'
import { codeAt } from '../../../src/security/totp.ts'
import { statement } from '../../../src/storage/database.ts'
import { member } from '../../support/app/actors.ts'
import { enrol, signInWithCode, signInWithPasskey, WITH_PASSKEYS } from '../../support/app/factors.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'

const TABLES = [
  'users',
  'sessions',
  'totp_secrets',
  'recovery_codes',
  'passkeys',
  'login_challenges',
  'events',
  'outbox',
  'webhook_deliveries',
]
const ROWS = TABLES.map((table) => statement(`select * from ${table}`))

test('no secret of an app, code or recovery code is in the log, an event, a webhook or any other row', async (t) => {
  const webhook = { WEBHOOK_URL: 'https://hooks.example.com/', WEBHOOK_SECRET: 'whsec_Y2FuYXJ5LXdlYmhvb2stc2VjcmV0LTAxMjM0NTY3ODk=' }
  const service = await startApp(t, { env: { ...WITH_PASSKEYS, ...webhook, LOG_LEVEL: 'trace', SECURITY_NOTICES: 'true' } })
  const mia = await member(service)
  const enrolled = await enrol(service, mia)
  const { secret, recoveryCodes } = enrolled
  const code = codeAt(secret, Math.floor(service.clock.now() / 30_000))
  assert.equal((await signInWithCode(service, mia, 'canar-yaaaa')).statusCode, 401)
  for (const given of [code, recoveryCodes[0] ?? '']) assert.equal((await signInWithCode(service, mia, given)).statusCode, 200)
  assert.equal((await signInWithPasskey(service, enrolled)).statusCode, 200)
  const rows = await Promise.all(ROWS.map((sql) => service.db.all(sql)))
  const text = service.logged.join('\n') + JSON.stringify(rows)
  const secrets = [secret, 'canar-yaaaa', ...recoveryCodes, ...recoveryCodes.map((one) => one.replace('-', ''))]
  assert.deepEqual(
    secrets.filter((one) => text.includes(one)),
    [],
  )
  // Control: the same search finds what belongs there.
  for (const found of ['factor.added', 'passkey.added', mia.email]) assert.ok(text.includes(found), found)
})
