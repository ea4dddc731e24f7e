import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import postgres from 'postgres'
import { createTokens } from '../../src/security/token.ts'
import { until } from '../support/app/eventually.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { type ContractContext, freshDatabase, temporaryFolder, test } from '../support/databases/databases.ts'
import { payloadOf } from '../support/http/forged-tokens.ts'
import { newEmail, PASSWORD } from '../support/http/requests.ts'
import { missing } from '../support/load/outage.ts'
import { assertRecorded, assertReported, assertSealed, type Rows } from '../support/load/reported-events.ts'
import { ask, askPatiently, registration, type TimedResponse } from '../support/load/traffic.ts'
import { EVERYTHING_ON, fromAnywhere } from '../support/processes/all-settings.ts'
import { json } from '../support/processes/command-line.ts'
import { LATCHKEY, runNode } from '../support/processes/processes.ts'
import { IS_LONG, scaled } from '../support/processes/scale.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { type SmtpPeer, startSmtpPeer } from '../support/servers/smtp-peer.ts'
import { startReceiver, WEBHOOK_SECRET } from '../support/servers/webhook-receiver.ts'

/** The possible states of a value: the last acknowledged one, and those requested since without a response. */
type Known<Value> = { acknowledged: Value; readonly possible: Set<Value> }

/** An account as its client knows it: acknowledged states, and states left open by a lost response. */
type Account = {
  readonly id: number
  readonly email: Known<string>
  readonly isGone: Known<boolean>
  /** By their refresh tokens. */
  readonly sessions: { readonly refresh: string; readonly isAlive: Known<boolean> }[]
  /** Whether a reset mail has to be sent: one was requested, and no ban prevents it. */
  isResetMailed: boolean
  readonly password: Known<string>
  readonly firstName: Known<string>
  readonly verified: Known<boolean>
  readonly banned: Known<boolean>
  /** By their secrets: a key that is rotated has several. */
  readonly keys: { readonly key: string; readonly id: string; readonly state: Known<'active' | 'inactive' | 'gone'> }[]
  /** Tokens that other services verify with the key set. */
  readonly offlineTokens: string[]
}

function known<Value>(value: Value): Known<Value> {
  return { acknowledged: value, possible: new Set() }
}

function candidates<Value>({ acknowledged, possible }: Known<Value>): Value[] {
  return [acknowledged, ...possible]
}

/** Throws if an acknowledged write is missing. */
async function checkAccount(url: string, account: Account): Promise<void> {
  const { password, firstName, verified, banned, sessions, keys } = account
  const email = account.email.acknowledged
  const attempts = candidates(account.email).flatMap((name) => candidates(password).map((given) => ({ email: name, password: given })))
  const logins = await Promise.all(attempts.map((attempt) => askPatiently(url, 'POST', '/login/', attempt, fromAnywhere())))
  const good = logins.filter(({ status }) => status !== 400)
  const isGone = good.length === 0 && candidates(account.isGone).includes(true)
  if (isGone) return
  assert.equal(good.length, 1, `exactly one address and one password of ${email} are correct`)
  assert.ok(candidates(account.isGone).includes(false), `${email} is deleted, as acknowledged`)
  const isBanned = JSON.stringify(good[0]?.body).includes('banned')
  const isUnverified = JSON.stringify(good[0]?.body).includes('verify')
  assert.ok(candidates(banned).includes(isBanned), 'banned or not, as acknowledged')
  // The login of a banned account reveals neither verification nor sessions and keys.
  if (isBanned) return
  assert.ok(candidates(verified).includes(!isUnverified), 'verified or not, as acknowledged')
  const keySet = createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`))
  const unexpired = account.offlineTokens.filter((token) => Number(decodeJwt(token).exp) * 1000 > Date.now())
  for (const token of unexpired) await jwtVerify(token, keySet, { audience: 'reports' })
  for (const { refresh, isAlive } of sessions) {
    const { status } = await askPatiently(url, 'POST', '/refresh/', { refresh })
    assert.ok(candidates(isAlive).includes(status === 200), `a session of ${email}: ${status}, expected alive: ${candidates(isAlive)}`)
  }
  for (const { key, state } of keys) {
    const { status, body } = await askPatiently(url, 'GET', '/users/me', undefined, { 'x-api-key': key })
    const inactive = JSON.stringify(body).includes('inactive')
    const found = status === 200 ? 'active' : inactive ? 'inactive' : 'gone'
    assert.ok(candidates(state).includes(found), `a key of ${email} is ${found}, not ${candidates(state)}`)
    const name = (body as { first_name?: string }).first_name
    if (name !== undefined) assert.ok(candidates(firstName).includes(name), 'the name is as acknowledged')
  }
}

type SteadyClient = {
  /** The accounts whose registration was acknowledged. */
  readonly accounts: Account[]
  /** The number of acknowledged writes. */
  acknowledged(): number
  /** Sends requests until a response is missing. After a 503, which a busy machine may cause, it continues with another account. */
  run(url: string, admin: Readonly<Record<string, string>>): Promise<void>
  /** Throws if an acknowledged write is missing. */
  check(url: string): Promise<void>
}

const tokens = createTokens([new TextEncoder().encode(TEST_SECRET)], Date.now)

const NEW_PASSWORD = 'a brand new password'

class LostResponse extends Error {}
class Unavailable extends Error {}

/** Reads the versions that the mailed tokens of an account contain. */
type VersionsOf = (id: number) => Promise<{ readonly emailVersion: number; readonly resetVersion: number; readonly changeVersion: number }>

/** Creates a client that registers and uses accounts, one request at a time, and records every acknowledged write. */
function createSteadyClient(versionsOf: VersionsOf): SteadyClient {
  const accounts: Account[] = []
  let acknowledged = 0
  let turn = 0

  async function write(url: string, wanted: number, method: string, path: string, body?: unknown, headers = {}): Promise<TimedResponse> {
    const answer = await ask(url, method, path, body, { ...fromAnywhere(), ...headers })
    if (answer.status === 0) throw new LostResponse(answer.what)
    if (answer.status === 503) throw new Unavailable(answer.what)
    assert.equal(answer.status, wanted, `${answer.what}: ${JSON.stringify(answer.body)}`)
    acknowledged++
    return answer
  }

  /** Until the response arrives, both the old and the new value are possible. */
  async function changing<Value>(known: Known<Value>, next: Value, request: () => Promise<unknown>): Promise<void> {
    known.possible.add(next)
    await request()
    acknowledge(known, next)
  }

  function acknowledge<Value>(known: Known<Value>, value: Value): void {
    known.acknowledged = value
    known.possible.clear()
  }

  async function requestReset(url: string, account: Account): Promise<void> {
    await write(url, 200, 'POST', '/forgot-password/', { email: account.email.acknowledged })
    account.isResetMailed = true
  }

  async function logIn(url: string, { email, password, sessions }: Account): Promise<{ authorization: string }> {
    const { body } = await write(url, 200, 'POST', '/login/', { email: email.acknowledged, password: password.acknowledged })
    const { token, refresh } = body as { token: string; refresh: string }
    sessions.push({ refresh, isAlive: known(true) })
    return { authorization: `Bearer ${token}` }
  }

  /** Sets a new password, which ends all sessions. */
  async function reset(url: string, { id, password, sessions }: Account, version: number): Promise<void> {
    const body = { code: tokens.forMail('reset', id, version), new_password: NEW_PASSWORD }
    for (const { isAlive } of sessions) isAlive.possible.add(false)
    await changing(password, NEW_PASSWORD, () => write(url, 200, 'POST', '/reset-password/', body))
    for (const { isAlive } of sessions) acknowledge(isAlive, false)
  }

  async function register(url: string): Promise<Account> {
    const email = newEmail()
    const { body } = await write(url, 201, 'POST', '/register/', registration(email))
    const { token, refresh } = body as { token: string; refresh: string }
    const account: Account = {
      id: Number(payloadOf(token)['sub']),
      email: known(email),
      isGone: known(false),
      sessions: [{ refresh, isAlive: known(true) }],
      isResetMailed: false,
      password: known(PASSWORD),
      firstName: known('Mia'),
      verified: known(false),
      banned: known(false),
      keys: [],
      offlineTokens: [],
    }
    accounts.push(account)
    return account
  }

  async function makeKey(url: string, { keys }: Account, bearer: Record<string, string>): Promise<Account['keys'][number]> {
    return addKey(keys, await write(url, 200, 'POST', '/users/keys', { name: 'one', scopes: [] }, bearer))
  }

  function addKey(keys: Account['keys'], { body }: TimedResponse): Account['keys'][number] {
    const { id, key } = body as { id: string; key: string }
    const added = { id, key, state: known<'active' | 'inactive' | 'gone'>('active') }
    keys.push(added)
    return added
  }

  /** Rotates a key with an overlap, which keeps its former secret, and then without one, which ends all former secrets. */
  async function rotate(url: string, account: Account, bearer: Record<string, string>): Promise<void> {
    const { keys } = account
    const first = await makeKey(url, account, bearer)
    const path = `/users/keys/${first.id}/rotate`
    const second = addKey(keys, await write(url, 200, 'POST', path, { overlap_seconds: 3600 }, bearer))
    for (const { state } of [first, second]) state.possible.add('gone')
    addKey(keys, await write(url, 200, 'POST', path, undefined, bearer))
    for (const { state } of [first, second]) acknowledge(state, 'gone')
  }

  /** Gives keys up in both ways that need no session, ends a session, and gets a token for other services. */
  async function revoke(url: string, account: Account, bearer: Record<string, string>): Promise<void> {
    const [leaked, found] = [await makeKey(url, account, bearer), await makeKey(url, account, bearer)]
    const report = [{ token: leaked.key, type: 'key', url: 'https://example.com/leak' }]
    await changing(leaked.state, 'inactive', () => write(url, 200, 'POST', '/auth/leaked', report))
    await changing(found.state, 'inactive', () => write(url, 204, 'DELETE', '/auth/key', undefined, { 'x-api-key': found.key }))
    const { authorization } = await logIn(url, account)
    const { isAlive } = account.sessions.at(-1) ?? assert.fail('the login is not recorded')
    const path = `/users/me/sessions/${payloadOf(authorization.split(' ')[1] ?? '')['sid']}`
    await changing(isAlive, false, () => write(url, 204, 'DELETE', path, undefined, bearer))
    const { body } = await write(url, 200, 'POST', '/auth/token', { audience: 'reports', lifetime_seconds: 900 }, bearer)
    account.offlineTokens.push((body as { token: string }).token)
  }

  async function verify(url: string, { id, verified }: Account): Promise<void> {
    const code = tokens.forMail('verify', id, (await versionsOf(id)).emailVersion)
    await changing(verified, true, () => write(url, 200, 'GET', `/verify/?code=${code}`))
  }

  /** Asks for a new address, which takes effect when the mailed link is opened. */
  async function move(url: string, account: Account): Promise<void> {
    const { id, email } = account
    await verify(url, account)
    const bearer = await logIn(url, account)
    const next = newEmail()
    await write(url, 200, 'PUT', `/users/${id}`, { email: next }, bearer)
    const code = tokens.forMail('email_change', id, (await versionsOf(id)).changeVersion)
    await changing(email, next, () => write(url, 200, 'GET', `/confirm-email/?code=${code}`))
  }

  async function leave(url: string, account: Account): Promise<void> {
    await verify(url, account)
    const bearer = await logIn(url, account)
    const body = { password: account.password.acknowledged }
    await changing(account.isGone, true, () => write(url, 204, 'DELETE', '/users/me', body, bearer))
  }

  async function use(url: string, account: Account, admin: Readonly<Record<string, string>>): Promise<void> {
    const { id, firstName, banned, keys } = account
    const { resetVersion } = await versionsOf(id)
    await verify(url, account)
    const bearer = await logIn(url, account)
    await makeKey(url, account, bearer)
    await makeKey(url, account, bearer)
    const [first, second] = keys
    assert.ok(first && second)
    await changing(first.state, 'inactive', () => write(url, 200, 'PATCH', `/users/keys/${first.id}`, { is_active: false }, bearer))
    await changing(second.state, 'gone', () => write(url, 204, 'DELETE', `/users/keys/${second.id}`, undefined, bearer))
    await makeKey(url, account, bearer)
    await rotate(url, account, bearer)
    await revoke(url, account, bearer)
    await changing(firstName, 'Maria', () => write(url, 200, 'PUT', `/users/${id}`, { first_name: 'Maria' }, bearer))
    await requestReset(url, account)
    await reset(url, account, resetVersion)
    await logIn(url, account)
    // A banned user gets no mail.
    account.isResetMailed = false
    await changing(banned, true, () => write(url, 204, 'POST', `/users/${id}/ban`, undefined, admin))
    await changing(banned, false, () => write(url, 204, 'POST', `/users/${id}/unban`, undefined, admin))
  }

  return {
    accounts,
    acknowledged: () => acknowledged,
    async run(url, admin) {
      for (;;) {
        try {
          // Every other account only waits for its mails.
          await requestReset(url, await register(url))
          const live = [use, move, leave][turn++ % 3] ?? use
          await live(url, await register(url), admin)
        } catch (error) {
          if (error instanceof LostResponse) return
          if (!(error instanceof Unavailable)) throw error
        }
      }
    },
    async check(url) {
      for (const account of accounts) await checkAccount(url, account)
    },
  }
}

const KILLS = scaled(4, 50)
const CLIENTS = 4
// The maximum of acknowledged writes before a kill. The actual number is random, spread evenly over all kills.
const MOST_WRITES = 60
const WRITES_DEADLINE_MS = 60_000
const ADMIN = { email: 'admin@example.com', password: 'a password for the admin' }
// A mail that was being sent when the process was killed stays leased. The long form waits for the lease to end; the short form makes it due.
const MAIL_DEADLINE_MS = 120_000

test('a service that is killed repeatedly, at any moment, keeps every acknowledged write and sends every mail and webhook', async (t) => {
  const folder = temporaryFolder(t)
  const peer = await startSmtpPeer(t)
  const receiver = await startReceiver(t)
  const { url: databaseUrl, rows } = await openDatabaseDirectly(t, folder)
  const env = {
    DATABASE_URL: databaseUrl,
    SMTP_URL: peer.url,
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    LOG_LEVEL: 'error',
    ...EVERYTHING_ON,
  }
  const versionsOf = async (id: number) => {
    const [row] = await rows(`
      select email_version, users.reset_version, version from users left join email_changes on user_id = users.id where users.id = ${id}`)
    return {
      emailVersion: Number(row?.['email_version']),
      resetVersion: Number(row?.['reset_version']),
      changeVersion: Number(row?.['version']),
    }
  }
  const clients = Array.from({ length: CLIENTS }, () => createSteadyClient(versionsOf))
  const rotated: string[] = []
  let errors = ''
  for (let kill = 0; kill < KILLS; kill++) {
    const service = await startProcess(t, env, folder)
    const before = acknowledgedBy(clients)
    const running = Promise.all(await runClients(service.url, clients))
    const writes = ((kill + Math.random()) / KILLS) * MOST_WRITES
    const rotation = runNode(t, LATCHKEY, ['signing-key', 'rotate', '--json'], { cwd: folder, env: { SECRET_KEY: TEST_SECRET, ...env } })
    await until('the writes before the kill', () => acknowledgedBy(clients) - before >= writes, WRITES_DEADLINE_MS)
    await sleep(Math.random() * 50)
    service.process.kill('SIGKILL')
    await Promise.all([running, once(service.process, 'close')])
    rotated.push((json(await rotation) as { id: string }).id)
    errors += errorsIn(service.output())
  }
  assert.equal(errors, '', 'no errors in the log')

  const service = await startProcess(t, env, folder)
  for (const client of clients) await client.check(service.url)
  const { body: keySet } = await askPatiently(service.url, 'GET', '/.well-known/jwks.json')
  const published = (keySet as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
  assert.deepEqual(missing(published, rotated), [], 'every signing key is published')
  await assertRecorded(rows)
  const sealed = await assertSealed(t, folder, env)
  if (!IS_LONG) for (const table of ['outbox', 'webhook_deliveries']) await rows(`update ${table} set due_at = 0 returning id`)
  const { accounts, waiting, forgotten } = await assertMailed(peer, rows, clients)
  const reported = await assertReported(receiver, rows, MAIL_DEADLINE_MS)
  const orphans = await rows(ORPHANS)
  assert.deepEqual(orphans, [])
  if (t.database === 'sqlite') assert.deepEqual(await rows('pragma integrity_check'), [{ integrity_check: 'ok' }])
  const acknowledged = acknowledgedBy(clients)
  assert.ok(acknowledged >= (KILLS * MOST_WRITES) / 4, `enough writes to lose one: ${acknowledged}`)
  assert.ok(waiting > 0 && forgotten > 0, 'mails were requested')
  t.diagnostic(
    `${KILLS} kills; ${acknowledged} acknowledged writes on ${accounts} accounts, all found; ` +
      `${waiting} unverified accounts and ${forgotten} reset requests, all mailed; ` +
      `${reported} events of the audit trail, all received in ${receiver.received.length} webhooks; 0 orphan rows; ${sealed} sealed events`,
  )
})

const ORPHANS = `
  select 'session' as orphan, id from sessions where user_id not in (select id from users)
  union all select 'key', id from api_keys where user_id not in (select id from users)
  union all select 'former secret', key_id from retiring_secrets where key_id not in (select id from api_keys)
  union all select 'mail', recipient from outbox where kind = 'verify' and recipient not in (select email_key from users)`

const TOO_SLOW = /(?:longer than|respond within|begin within) \d+ ms|password queue is full|CONNECT_TIMEOUT|database is locked/

/**
 * The errors in a log, except work that a busy machine was too slow for: a client gets 503 and counts no acknowledged write, and the sealer
 * tries again.
 */
function errorsIn(output: string): string {
  const lines = output.match(/.*(?:unhandled|uncaught|"level":50).*/g) ?? []
  return lines.filter((line) => /unhandled|uncaught/.test(line) || !TOO_SLOW.test(line)).join('\n')
}

function acknowledgedBy(clients: readonly SteadyClient[]): number {
  return clients.reduce((sum, client) => sum + client.acknowledged(), 0)
}

async function runClients(url: string, clients: readonly SteadyClient[]): Promise<Promise<void>[]> {
  const { body } = await askPatiently(url, 'POST', '/login/', ADMIN)
  const admin = { authorization: `Bearer ${(body as { token: string }).token}` }
  return clients.map((client) => client.run(url, admin))
}

type Mailed = { readonly accounts: number; readonly waiting: number; readonly forgotten: number }

/** Asserts that every account got its verification mail, acknowledged or not, and a reset mail if the request for it was acknowledged. */
async function assertMailed(peer: SmtpPeer, rows: Rows, clients: readonly SteadyClient[]): Promise<Mailed> {
  const accounts = clients.flatMap((client) => client.accounts)
  const present = (await rows('select email from users')).map(({ email }) => String(email))
  const absent = accounts.filter(
    ({ email, isGone }) => !isGone.possible.has(true) && !candidates(email).some((one) => present.includes(one)),
  )
  assert.deepEqual(
    absent.filter(({ isGone }) => !isGone.acknowledged),
    [],
    'every account that was not deleted is there',
  )
  await until('the outbox is empty', async () => (await rows('select id from outbox')).length === 0, MAIL_DEADLINE_MS)
  // An account that was verified before its mail was sent needs none.
  const unverified = (await rows('select email from users where not verified')).map(({ email }) => String(email))
  assert.deepEqual(missing(mailed(peer, '/verify/'), unverified), [], 'verification mails')
  const forgotten = accounts.filter(({ isResetMailed }) => isResetMailed).map(({ email }) => email.acknowledged)
  assert.deepEqual(missing(mailed(peer, '/reset-password/'), forgotten), [], 'reset mails')
  return { accounts: accounts.length, waiting: unverified.length, forgotten: forgotten.length }
}

/** The recipients of links to a path. */
function mailed({ deliveries }: SmtpPeer, path: string): string[] {
  return deliveries.filter(({ mail }) => mail.link !== '' && new URL(mail.link).pathname === path).map(({ to }) => String(to))
}

/** Opens the database beside the service. */
async function openDatabaseDirectly(t: ContractContext, folder: string): Promise<{ url: string; rows: Rows }> {
  if (t.database === 'sqlite') {
    const rows: Rows = async (sql) => {
      const connection = new DatabaseSync(join(folder, 'data', 'latchkey.db'), { timeout: 5000 })
      const found = connection.prepare(sql).all()
      connection.close()
      return found.map((row) => ({ ...row }))
    }
    return { url: 'sqlite:data/latchkey.db', rows }
  }
  const target = await freshDatabase(t, 'postgres')
  const client = postgres(target.setting, { max: 1, onnotice: () => undefined })
  t.after(() => client.end({ timeout: 1 }))
  return { url: target.setting, rows: async (sql) => [...(await client.unsafe(sql))] }
}
