import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { until } from '../support/app/eventually.ts'
import { type ContractContext, freshDatabase, temporaryFolder, test } from '../support/databases/databases.ts'
import { missing } from '../support/load/outage.ts'
import { createSteadyClient, type SteadyClient } from '../support/load/steady-client.ts'
import { ask } from '../support/load/traffic.ts'
import { IS_LONG, scaled } from '../support/processes/scale.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { type SmtpPeer, startSmtpPeer } from '../support/servers/smtp-peer.ts'

const KILLS = scaled(4, 50)
const CITIZENS = 4
// So many writes are acknowledged before a kill at most; how many of them is left to chance, but spread over all the kills.
const MOST_WRITES = 60
const WRITES_DEADLINE_MS = 60_000
const ADMIN = { email: 'admin@example.com', password: 'the first of all admins' }
// A mail that was being sent when the process was killed is leased for a minute. The long form waits for that; the short form moves time on.
const MAIL_DEADLINE_MS = scaled(30_000, 120_000)

type Rows = (sql: string) => Promise<Record<string, unknown>[]>

test('a service that is killed at any moment, again and again, has kept every write that it acknowledged and sends every mail', async (t) => {
  const folder = temporaryFolder(t)
  const peer = await startSmtpPeer(t)
  const { url: databaseUrl, rows } = await openBooks(t, folder)
  const env = {
    DATABASE_URL: databaseUrl,
    SMTP_URL: peer.url,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    LOG_LEVEL: 'error',
  }
  const versionsOf = async (id: number) => {
    const [row] = await rows(`select email_version, reset_version from users where id = ${id}`)
    return { emailVersion: Number(row?.['email_version']), resetVersion: Number(row?.['reset_version']) }
  }
  const clients = Array.from({ length: CITIZENS }, () => createSteadyClient(versionsOf))
  let unforeseen = ''
  for (let kill = 0; kill < KILLS; kill++) {
    const service = await startProcess(t, env, folder)
    const before = acknowledgedBy(clients)
    const lives = Promise.all(await givenLives(service.url, clients))
    const writes = ((kill + Math.random()) / KILLS) * MOST_WRITES
    await until('so many writes', () => acknowledgedBy(clients) - before >= writes, WRITES_DEADLINE_MS)
    await sleep(Math.random() * 50)
    service.process.kill('SIGKILL')
    await Promise.all([lives, once(service.process, 'close')])
    unforeseen +=
      service
        .output()
        .match(/.*(?:unhandled|uncaught|"level":50).*/g)
        ?.join('\n') ?? ''
  }
  assert.equal(unforeseen, '', 'nothing failed but what was killed')

  const service = await startProcess(t, env, folder)
  for (const client of clients) await client.check(service.url)
  if (!IS_LONG) await rows('update outbox set due_at = 0 returning id')
  const { accounts, waiting, forgotten } = await mailsArrive(peer, rows, clients)
  const orphans = await rows(ORPHANS)
  assert.deepEqual(orphans, [])
  if (t.database === 'sqlite') assert.deepEqual(await rows('pragma integrity_check'), [{ integrity_check: 'ok' }])
  const acknowledged = acknowledgedBy(clients)
  assert.ok(acknowledged >= (KILLS * MOST_WRITES) / 4, `enough was written to be lost: ${acknowledged}`)
  assert.ok(waiting > 0 && forgotten > 0, 'mails were asked for')
  t.diagnostic(
    `${KILLS} kills; ${acknowledged} acknowledged writes on ${accounts} accounts, all found; ` +
      `${waiting} accounts that wait for verification and ${forgotten} whose password was forgotten, all mailed; 0 orphan rows`,
  )
})

const ORPHANS = `
  select 'session' as orphan, id from sessions where user_id not in (select id from users)
  union all select 'key', id from api_keys where user_id not in (select id from users)
  union all select 'mail', recipient from outbox where kind = 'verify' and recipient not in (select email_key from users)`

function acknowledgedBy(clients: readonly SteadyClient[]): number {
  return clients.reduce((sum, client) => sum + client.acknowledged(), 0)
}

async function givenLives(url: string, clients: readonly SteadyClient[]): Promise<Promise<void>[]> {
  const { body } = await ask(url, 'POST', '/login/', ADMIN)
  const admin = { authorization: `Bearer ${(body as { token: string }).token}` }
  return clients.map((client) => client.live(url, admin))
}

type Mailed = { readonly accounts: number; readonly waiting: number; readonly forgotten: number }

/**
 * Every account in the database has had its verification mail, whether or not its registration was acknowledged, and a reset mail
 * where the request for it was.
 */
async function mailsArrive(peer: SmtpPeer, rows: Rows, clients: readonly SteadyClient[]): Promise<Mailed> {
  const accounts = clients.flatMap((client) => client.accounts)
  const present = (await rows('select email from users')).map(({ email }) => String(email))
  const registered = accounts.map(({ email }) => email)
  assert.deepEqual(missing(present, registered), [])
  await until('the outbox is empty', async () => (await rows('select id from outbox')).length === 0, MAIL_DEADLINE_MS)
  // Who was verified before the mail was sent needs none.
  const unverified = (await rows('select email from users where not verified')).map(({ email }) => String(email))
  assert.deepEqual(missing(mailed(peer, '/verify/'), unverified), [], 'verification mails')
  const forgotten = accounts.filter(({ isResetMailed }) => isResetMailed).map(({ email }) => email)
  assert.deepEqual(missing(mailed(peer, '/reset-password/'), forgotten), [], 'reset mails')
  return { accounts: registered.length, waiting: unverified.length, forgotten: forgotten.length }
}

/** Who was sent a link to that path. */
function mailed({ deliveries }: SmtpPeer, path: string): string[] {
  return deliveries.filter(({ mail }) => new URL(mail.link).pathname === path).map(({ to }) => String(to))
}

/** The database from outside of the service. */
async function openBooks(t: ContractContext, folder: string): Promise<{ url: string; rows: Rows }> {
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
