import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { until } from '../support/app/eventually.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { type ContractContext, freshDatabase, temporaryFolder, test } from '../support/databases/databases.ts'
import { missing } from '../support/load/outage.ts'
import { assertRecorded, assertReported, assertSealed, type Rows } from '../support/load/reported-events.ts'
import { candidates } from '../support/load/steady-account.ts'
import { createSteadyClient, type SteadyClient } from '../support/load/steady-client.ts'
import { askPatiently } from '../support/load/traffic.ts'
import { EVERYTHING_ON } from '../support/processes/all-settings.ts'
import { json } from '../support/processes/command-line.ts'
import { LATCHKEY, runNode } from '../support/processes/processes.ts'
import { IS_LONG, scaled } from '../support/processes/scale.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { type SmtpPeer, startSmtpPeer } from '../support/servers/smtp-peer.ts'
import { startReceiver, WEBHOOK_SECRET } from '../support/servers/webhook-receiver.ts'

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
  if (target.kind !== 'postgres') throw new Error('not PostgreSQL')
  const client = postgres(target.url, { max: 1, onnotice: () => undefined })
  t.after(() => client.end({ timeout: 1 }))
  return { url: target.url, rows: async (sql) => [...(await client.unsafe(sql))] }
}
