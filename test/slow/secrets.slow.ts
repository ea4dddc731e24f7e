import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import postgres from 'postgres'
import { hashApiKey } from '../../src/security/api-key-secret.ts'
import { codeAt } from '../../src/security/totp.ts'
import { until } from '../support/app/eventually.ts'
import { type ContractContext, freshDatabase, temporaryFolder, test } from '../support/databases/databases.ts'
import { payloadOf } from '../support/http/forged-tokens.ts'
import { ask, askPatiently, type TimedResponse } from '../support/load/traffic.ts'
import { EVERYTHING_ON, fromAnywhere } from '../support/processes/all-settings.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { type SmtpPeer, startSmtpPeer } from '../support/servers/smtp-peer.ts'
import { startReceiver } from '../support/servers/webhook-receiver.ts'

const NAME = 'Canaryname'
const FORBIDDEN = 'Canaryforbidden'
const PASSWORD_HASH = /\$argon2id\$v=19\$[\w=,]+\$[\w+/]{22}\$[\w+/]{43}/g
const CANARIES = {
  'first password': 'canary-first-password-9f2c',
  'wrong password': 'canary-wrong-password-1b7d',
  'reset password': 'canary-reset-password-77aa',
  'edited password': 'canary-edited-password-5e01',
  'changed password': 'canary-changed-password-c3d4',
  'admin password': 'canary-admin-password-0d0d',
  'leaving password': 'canary-leaving-password-e5e5',
  'factor password': 'canary-factor-password-b6b6',
  'wrong code': 'canar-ycode-3a3a',
  'mail password': 'canary-mail-password-44e1',
  'database password': 'canary-database-password-6a6a',
  'signing secret': 'canary-signing-secret-2f2f2f2f-2f2f2f2f',
  'former secret': 'canary-former-secret-7d7d7d7d-7d7d7d7d',
  'webhook secret': 'whsec_Y2FuYXJ5LXdlYmhvb2stc2VjcmV0LTAxMjM0NTY3ODk=',
  'webhook token': 'canary-webhook-token-8b8b',
  'made-up token': 'eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOjF9.Y2FuYXJ5LXRva2VuLXNpZ25hdHVyZQ',
  'made-up key': 'lk_canary0000000000000000000000000000000000000000000',
}

type Send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Record<string, string>>
type Found = { readonly where: string; readonly text: string }

/** Uses every kind of secret, correctly and incorrectly. Returns the responses, and the secrets that the service generated. */
async function useEverything(url: string, peer: SmtpPeer): Promise<{ answers: TimedResponse[]; made: Record<string, string> }> {
  const answers: TimedResponse[] = []
  const made: Record<string, string> = {}
  const email = 'mia@example.com'
  const send = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const answer = await askPatiently(url, method, path, body, { ...fromAnywhere(), ...headers })
    answers.push(answer)
    return answer.body as Record<string, string>
  }
  const codeOf = async (kind: string, recipient = email) => {
    const isIt = ({ mail, to }: SmtpPeer['deliveries'][number]) => mail.link.includes(kind) && to.includes(recipient)
    await until(`a mail for ${kind}`, () => peer.deliveries.some(isIt))
    return peer.deliveries.find(isIt)?.mail.code ?? ''
  }
  const first = await send('POST', '/register/', { email, password: CANARIES['first password'], first_name: NAME, last_name: 'Muster' })
  Object.assign(made, { 'first access token': first['token'], 'first refresh token': first['refresh'] })
  const ownId = payloadOf(first['token'] ?? '')['sub']
  made['verify code'] = await codeOf('/verify')
  await send('GET', `/verify/?code=${made['verify code']}`)
  await send('GET', `/verify/?code=${made['verify code']}`)
  await send('POST', '/login/', { email, password: CANARIES['wrong password'] })
  const pair = await send('POST', '/login/', { email, password: CANARIES['first password'] })
  Object.assign(made, { 'access token': pair['token'], 'refresh token': pair['refresh'] })
  made['renewed access token'] = (await send('POST', '/refresh/', { refresh: pair['refresh'] }))['token'] ?? ''
  const bearer = { authorization: `Bearer ${pair['token']}` }
  made['API key'] = (await send('POST', '/users/keys', { name: 'one', scopes: ['all'] }, bearer))['key'] ?? ''
  await send('GET', '/users/me', undefined, { 'x-api-key': made['API key'] })
  const { id, key = '' } = await send('POST', '/users/keys?details=true', { name: 'two' }, bearer)
  const { key: rotated = '' } = await send('POST', `/users/keys/${id}/rotate`, { overlap_seconds: 60 }, { 'x-api-key': key })
  Object.assign(made, { 'former key': key, 'rotated key': rotated })
  await send('POST', '/auth/leaked', [{ token: key, type: 'key', url: `https://example.com/?key=${rotated}`, source: 'content' }])
  await send('POST', '/auth/leaked', [{ token: rotated, type: 5, url: `https://example.com/?key=${key}` }])
  await send('DELETE', '/auth/key', undefined, { 'x-api-key': rotated })
  await send('PUT', '/users/1', { password: CANARIES['edited password'] }, bearer)
  await send('PUT', `/users/${ownId}`, { password: CANARIES['edited password'] }, bearer)
  await send('POST', `/users/${ownId}/password`, { password: CANARIES['changed password'] }, bearer)
  await send('POST', '/forgot-password/', { email })
  made['reset code'] = await codeOf('/reset-password')
  await send('GET', `/reset-password/?code=${made['reset code']}x`)
  const reset = { code: made['reset code'], new_password: CANARIES['reset password'] }
  await send('POST', '/reset-password/', { ...reset, new_password: 'short', code: `${reset.code}` })
  await send('POST', '/reset-password/', reset)
  await send('POST', '/reset-password/', reset)
  await useFactors(send, codeOf, made)
  await moveAndLeave(send, codeOf, made)
  await abuse(send)
  return { answers, made }
}

/** An account that turns codes from an app on and logs in with two steps, with a wrong answer first. */
async function useFactors(
  send: Send,
  codeOf: (kind: string, recipient: string) => Promise<string>,
  made: Record<string, string>,
): Promise<void> {
  const ida = { email: 'ida@example.com', password: CANARIES['factor password'], first_name: 'Ida', last_name: 'Muster' }
  const { token = '' } = await send('POST', '/register/', ida)
  const bearer = { authorization: `Bearer ${token}` }
  await send('GET', `/verify/?code=${await codeOf('/verify', ida.email)}`)
  const path = '/users/me/second-factor/totp'
  const { secret = '' } = await send('POST', path, undefined, bearer)
  await send('POST', `${path}/confirm`, { code: CANARIES['wrong code'] }, bearer)
  const on = await send('POST', `${path}/confirm`, { code: codeAt(secret, Math.floor(Date.now() / 30_000)) }, bearer)
  const [first = '', second = ''] = on['recovery_codes'] as unknown as readonly string[]
  const { challenge = '' } = await send('POST', '/login/', { email: ida.email, password: ida.password })
  const { challenge: question = '' } = await send('POST', '/login/passkey/options', { challenge })
  const passkey = { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response: { clientDataJSON: question } }
  await send('POST', '/login/second-factor', { challenge, code: CANARIES['wrong code'] })
  await send('POST', '/login/second-factor', { challenge, passkey })
  await send('POST', '/login/second-factor', { challenge, code: first, passkey })
  const { token: opened = '', refresh = '' } = await send('POST', '/login/second-factor', { challenge, code: first })
  await send('POST', '/users/me/confirm', { code: CANARIES['wrong code'] }, bearer)
  await send('POST', '/users/me/confirm', { code: second }, bearer)
  Object.assign(made, { 'secret of an app': secret, 'recovery code': first, 'another recovery code': second, challenge })
  Object.assign(made, { 'question for a passkey': question, 'token of two steps': opened, 'refresh token of two steps': refresh })
}

/** An account that changes its address by a mailed link and deletes itself, with the wrong password first. */
async function moveAndLeave(
  send: Send,
  codeOf: (kind: string, recipient: string) => Promise<string>,
  made: Record<string, string>,
): Promise<void> {
  const eve = { email: 'eve@example.com', password: CANARIES['leaving password'], first_name: 'Eve', last_name: 'Muster' }
  const { token = '' } = await send('POST', '/register/', eve)
  const id = payloadOf(token)['sub']
  made['token of the leaving account'] = token
  const bearer = { authorization: `Bearer ${token}` }
  await send('GET', `/verify/?code=${await codeOf('/verify', eve.email)}`)
  await send('PUT', `/users/${id}`, { email: 'eve.new@example.com' }, bearer)
  made['confirmation code'] = await codeOf('/confirm-email', 'eve.new@example.com')
  await send('GET', `/confirm-email/?code=${made['confirmation code']}x`)
  for (let times = 0; times < 2; times++) await send('GET', `/confirm-email/?code=${made['confirmation code']}`)
  await send('DELETE', '/users/me', { password: CANARIES['wrong password'] }, bearer)
  await send('DELETE', '/users/me', { password: CANARIES['leaving password'] }, bearer)
}

async function abuse(send: Send): Promise<void> {
  const token = CANARIES['made-up token']
  await send('GET', '/users/me', undefined, { authorization: `Bearer ${token}` })
  await send('GET', '/users/me', undefined, { authorization: `Basic ${token}` })
  await send('GET', '/users/me', undefined, { 'x-api-key': CANARIES['made-up key'] })
  for (const path of ['/verify/', '/reset-password/', '/nowhere', '/users/me', '/login/'])
    await send('GET', `${path}?code=${token}&code=${token}`)
  await send('POST', '/refresh/', { refresh: token })
  await send('POST', '/login/', { email: CANARIES['wrong password'], password: [CANARIES['wrong password']] })
  await send('POST', '/register/', { password: CANARIES['wrong password'] })
  await send('POST', '/login/', `{"password": "${CANARIES['wrong password']}`)
  await send('POST', '/login/', 'x'.repeat(70_000) + CANARIES['wrong password'])
}

test('no password, token, key or code is in the log, the database, the metrics or an error, at any log level', async (t) => {
  const folder = temporaryFolder(t)
  const peer = await startSmtpPeer(t, { login: { user: 'post', password: CANARIES['mail password'] } })
  const { url: databaseUrl, dump, forbid, break: breakTable } = await openStore(t, folder)
  // An attempt that fails is logged too.
  const receiver = await startReceiver(t)
  receiver.answer = (response) => void response.writeHead(receiver.received.length === 1 ? 500 : 204).end()
  const service = await startProcess(
    t,
    {
      DATABASE_URL: databaseUrl,
      SMTP_URL: `${peer.url.replace('//', `//post:${CANARIES['mail password']}@`)}?tls=none`,
      SECRET_KEY: CANARIES['signing secret'],
      SECRET_KEY_FALLBACKS: CANARIES['former secret'],
      ADMIN_EMAIL: 'admin@example.com',
      ADMIN_PASSWORD: CANARIES['admin password'],
      METRICS_ENABLED: 'true',
      WEBHOOK_URL: `${receiver.url}&token=${CANARIES['webhook token']}`,
      WEBHOOK_SECRET: CANARIES['webhook secret'],
      LOG_LEVEL: 'trace',
      ...EVERYTHING_ON,
    },
    folder,
  )
  const { answers, made } = await useEverything(service.url, peer)
  for (const type of ['user.edited', 'key.leaked', 'user.deleted'])
    await until(`a webhook of ${type}`, () => receiver.received.some(({ body }) => body.type === type), 60_000)
  await until('notices', () => peer.deliveries.filter(({ mail }) => mail.link === '').length >= 3, 60_000)
  const stored = await dump()
  // The error of a failing statement is logged.
  await forbid()
  const key = { 'x-api-key': made['API key'] ?? '' }
  const [madeKey] = (await ask(service.url, 'GET', '/users/keys', undefined, key)).body as { id: string }[]
  const email = 'late@example.com'
  const late = { email, password: CANARIES['first password'], first_name: FORBIDDEN, last_name: 'M' }
  answers.push(
    await ask(service.url, 'PUT', `/users/${payloadOf(made['access token'] ?? '')['sub']}`, { first_name: FORBIDDEN }, key),
    await ask(service.url, 'PATCH', `/users/keys/${madeKey?.id}`, { name: FORBIDDEN }, key),
    await ask(service.url, 'POST', '/register/', late),
  )
  await breakTable()
  answers.push(await ask(service.url, 'POST', '/register/', { ...late, email: `very.${email}`, first_name: NAME }))
  const metrics = String((await ask(service.url, 'GET', '/metrics')).body)
  const refused = answers.filter(({ status }) => status >= 400)
  const rejections = () => service.output().match(/violates check constraint/g)?.length ?? 0
  // The log is written beside the responses, and may arrive after them.
  if (t.database === 'postgres') await until('three rejected rows are logged', () => rejections() >= 6)
  const told: Found[] = [
    { where: 'the output', text: service.output() },
    { where: 'the metrics', text: metrics },
    { where: 'an error', text: JSON.stringify(refused.map(({ body }) => withoutChallenge(body))) },
    { where: 'a webhook', text: JSON.stringify(receiver.received) },
    { where: 'a notice', text: JSON.stringify(peer.deliveries.filter(({ mail }) => mail.link === '').map(({ mail }) => mail)) },
  ]
  const places = [...told, ...stored]
  const secrets = Object.entries({ ...CANARIES, ...made })
  for (const [name, secret] of secrets) assert.ok(secret.length > 10, `${name} was used`)
  const leaks = places.flatMap(({ where, text }) =>
    secrets.flatMap(([name, secret]) => (partsOf(secret).some((part) => text.includes(part)) ? [`${name} in ${where}`] : [])),
  )
  assert.deepEqual(leaks, [])
  // Hashes belong only in the database.
  const hashes = [hashApiKey(made['API key'] ?? ''), ...stored.flatMap(({ text }) => text.match(PASSWORD_HASH) ?? [])]
  assert.ok(hashes.length > 2, 'the hashes of two passwords and a key are searched for')
  const toldHashes = told.filter(({ text }) => text.includes('$argon2') || hashes.some((hash) => text.includes(hash)))
  assert.deepEqual(
    toldHashes.map(({ where }) => where),
    [],
  )
  if (t.database === 'postgres') assert.equal(rejections(), 6, 'three rows were rejected')
  // Control: the same search finds a name in the database, an event in the output and a counter in the metrics.
  assert.ok(stored.some(({ text }) => text.includes(NAME)))
  assert.match(service.output(), /"event":"session.created"/)
  assert.ok(stored.some(({ text }) => text.includes('user.deleted')))
  assert.match(metrics, /login_attempts_total\{status="success"\} [12]/)
  assert.ok(
    answers.some(({ status }) => status >= 500),
    'a failing database was logged too',
  )
  t.diagnostic(
    `${secrets.length} secrets searched for in ${service.output().length} characters of output, ${metrics.length} of metrics, ` +
      `${refused.length} refusals and ${stored.reduce((sum, { text }) => sum + text.length, 0)} bytes of database: none found`,
  )
})

/** The first step of a login is an error that has the challenge for the second. */
function withoutChallenge(body: unknown): unknown {
  const { challenge, ...rest } = Object(body) as Record<string, unknown>
  return challenge === undefined || rest['detail'] !== 'Second factor required' ? body : rest
}

/** The signature of a token and a key without its prefix are secrets too. */
function partsOf(secret: string): string[] {
  if (secret.startsWith('eyJ')) return [secret, secret.split('.')[2] ?? secret]
  return secret.startsWith('lk_') ? [secret, secret.slice(3, 46)] : [secret]
}

type Store = {
  readonly url: string
  dump(): Promise<Found[]>
  /** Makes PostgreSQL reject rows with that name; its error contains the whole row. SQLite's does not. */
  forbid(): Promise<void>
  break(): Promise<void>
}

async function openStore(t: ContractContext, folder: string): Promise<Store> {
  const BREAK = 'alter table outbox rename to outbox_away'
  if (t.database === 'sqlite') {
    const data = join(folder, 'data')
    return {
      url: 'sqlite:data/latchkey.db',
      dump: async () => readdirSync(data).map((name) => ({ where: name, text: readFileSync(join(data, name), 'latin1') })),
      forbid: async () => undefined,
      async break() {
        const connection = new DatabaseSync(join(data, 'latchkey.db'), { timeout: 5000 })
        connection.exec(BREAK)
        connection.close()
      },
    }
  }
  const target = await freshDatabase(t, 'postgres')
  const client = postgres(target.setting, { max: 1, onnotice: () => undefined })
  t.after(async () => {
    await client.unsafe('alter table outbox_away rename to outbox').catch(() => undefined)
    for (const table of ['users', 'api_keys']) await client.unsafe(`alter table ${table} drop constraint house_rule`).catch(() => undefined)
    await client.end({ timeout: 1 })
  })
  return {
    url: target.setting.replace('postgres@', `postgres:${CANARIES['database password']}@`),
    async dump() {
      const tables = await client<{ name: string }[]>`select tablename as name from pg_tables where schemaname = 'public'`
      const texts = tables.map(async ({ name }) => {
        const rows = await client.unsafe(`select row_to_json(rows)::text as text from ${name} rows`)
        return { where: name, text: rows.map((row) => String(row['text'])).join('\n') }
      })
      return Promise.all(texts)
    },
    async forbid() {
      for (const [table, column] of [
        ['users', 'first_name'],
        ['api_keys', 'name'],
      ])
        await client.unsafe(`alter table ${table} add constraint house_rule check (${column} <> '${FORBIDDEN}')`)
    },
    break: async () => void (await client.unsafe(BREAK)),
  }
}
