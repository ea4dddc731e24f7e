import assert from 'node:assert/strict'
import { createExport } from '../../../src/domain/import/export.service.ts'
import { codeAt } from '../../../src/security/totp.ts'
import { statement } from '../../../src/storage/database.ts'
import { member } from '../../support/app/actors.ts'
import { enrol, signInWithCode, signInWithPasskey, WITH_PASSKEYS } from '../../support/app/factors.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { ORIGIN } from '../../support/http/origins.ts'

const TABLES = [
  'users',
  'sessions',
  'totp_secrets',
  'recovery_codes',
  'passkeys',
  'login_challenges',
  'used_challenges',
  'events',
  'outbox',
  'webhook_deliveries',
]
const ROWS = TABLES.map((table) => statement(`select * from ${table}`))

test('no secret of an app, code, recovery code or challenge is in the log, an event, a webhook, an export without hashes or any other row', async (t) => {
  const webhook = { WEBHOOK_URL: 'https://hooks.example.com/', WEBHOOK_SECRET: 'whsec_Y2FuYXJ5LXdlYmhvb2stc2VjcmV0LTAxMjM0NTY3ODk=' }
  const service = await startApp(t, { env: { ...WITH_PASSKEYS, ...webhook, LOG_LEVEL: 'trace', SECURITY_NOTICES: 'true' } })
  const mia = await member(service)
  const enrolled = await enrol(service, mia)
  const { secret, recoveryCodes } = enrolled
  const code = codeAt(secret, Math.floor(service.clock.now() / 30_000))
  assert.equal((await signInWithCode(service, mia, 'canar-yaaaa')).statusCode, 401)
  for (const given of [code, recoveryCodes[0] ?? '']) assert.equal((await signInWithCode(service, mia, given)).statusCode, 200)
  assert.equal((await signInWithPasskey(service, enrolled)).statusCode, 200)
  const post = (url: string, payload: object, headers = {}) => service.app.inject({ method: 'POST', url, payload, headers })
  const { challenge } = (await post('/login/', { email: mia.email, password: mia.password })).json()
  const { challenge: question } = (await post('/login/passkey/options', { challenge })).json()
  const { challenge: creation } = (await post('/users/me/passkeys/options', {}, mia.headers)).json()
  const asked = { challenge: question, rpId: 'id.example.com' }
  // Refused for what they contain, so that whatever a refusal logs is searched too.
  for (const passkey of [{ canary: question }, { ...enrolled.authenticator.get(asked), id: 'AAAA', rawId: 'AAAA' }])
    assert.equal((await post('/login/second-factor', { challenge, passkey })).statusCode, 401)
  assert.equal((await post('/login/second-factor', { challenge: `${challenge}x`, code })).statusCode, 401)
  assert.equal((await post('/login/second-factor', { challenge, code: [code] })).statusCode, 422)
  assert.equal((await post('/users/me/passkeys', { name: 'x', credential: { challenge: creation } }, mia.headers)).statusCode, 400)
  const answer = enrolled.authenticator.get(asked)
  assert.equal((await post('/login/second-factor', { challenge, passkey: answer })).statusCode, 200)
  const exported: string[] = []
  for await (const page of createExport(service.services, ORIGIN, { withHashes: false }).pages()) exported.push(JSON.stringify(page))
  assert.ok(exported.join('').includes(mia.email))
  await service.app.close()
  const rows = await Promise.all(ROWS.map((sql) => service.db.all(sql)))
  const text = service.logged.join('\n') + exported.join('\n') + JSON.stringify(rows)
  const signed = [answer.response['clientDataJSON'], answer.response['signature']].map(String)
  const secrets = [
    secret,
    'canar-yaaaa',
    challenge,
    question,
    creation,
    ...signed,
    ...recoveryCodes,
    ...recoveryCodes.map((one) => one.replace('-', '')),
  ]
  assert.deepEqual(
    secrets.filter((one) => text.includes(one)),
    [],
  )
  // Control: the same search finds what belongs there.
  for (const found of ['factor.added', 'passkey.added', mia.email]) assert.ok(text.includes(found), found)
})
