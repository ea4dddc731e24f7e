import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { type Citizen, createCitizen } from '../support/citizen.ts'
import { type ContractContext, freshDatabase, temporaryFolder, test } from '../support/databases.ts'
import { until } from '../support/eventually.ts'
import { IS_LONG, scaled } from '../support/scale.ts'
import { startProcess } from '../support/service-process.ts'
import { type SmtpPeer, startSmtpPeer } from '../support/smtp-peer.ts'
import { ask } from '../support/traffic.ts'

const KILLS = scaled(4, 50)
const CITIZENS = 4
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
  const citizens = Array.from({ length: CITIZENS }, () => createCitizen(versionsOf))
  let unforeseen = ''
  for (let kill = 0; kill < KILLS; kill++) {
    const service = await startProcess(t, env, folder)
    const lives = Promise.all(await givenLives(service.url, citizens))
    await sleep(100 + Math.random() * scaled(1500, 2500))
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
  for (const citizen of citizens) await citizen.check(service.url)
  if (!IS_LONG) await rows('update outbox set due_at = 0 returning id')
  const { accounts, waiting } = await mailsArrive(peer, rows, citizens)
  const orphans = await rows(ORPHANS)
  assert.deepEqual(orphans, [])
  if (t.database === 'sqlite') assert.deepEqual(await rows('pragma integrity_check'), [{ integrity_check: 'ok' }])
  const acknowledged = citizens.reduce((sum, citizen) => sum + citizen.acknowledged(), 0)
  t.diagnostic(
    `${KILLS} kills; ${acknowledged} acknowledged writes on ${accounts} accounts, all found; ` +
      `${waiting} accounts that wait for verification, all mailed; 0 orphan rows`,
  )
})

const ORPHANS = `
  select 'session' as orphan, id from sessions where user_id not in (select id from users)
  union all select 'key', id from api_keys where user_id not in (select id from users)
  union all select 'mail', recipient from outbox where kind = 'verify' and recipient not in (select email_key from users)`

async function givenLives(url: string, citizens: readonly Citizen[]): Promise<Promise<void>[]> {
  const { body } = await ask(url, 'POST', '/login/', ADMIN)
  const admin = { authorization: `Bearer ${(body as { token: string }).token}` }
  return citizens.map((citizen) => citizen.live(url, admin))
}

/** Every account in the database has had its verification mail, whether or not its registration was acknowledged. */
async function mailsArrive(peer: SmtpPeer, rows: Rows, citizens: readonly Citizen[]): Promise<{ accounts: number; waiting: number }> {
  const registered = citizens.flatMap(({ accounts }) => accounts.map(({ email }) => email))
  const present = new Set((await rows('select email from users')).map(({ email }) => String(email)))
  assert.deepEqual(
    registered.filter((email) => !present.has(email)),
    [],
  )
  await until('the outbox is empty', async () => (await rows('select id from outbox')).length === 0, MAIL_DEADLINE_MS)
  const mailed = new Set(peer.deliveries.filter(isVerification).map(({ to }) => String(to)))
  // Who was verified before the mail was sent needs none.
  const unverified = (await rows('select email from users where not verified')).map(({ email }) => String(email))
  assert.deepEqual(
    unverified.filter((email) => !mailed.has(email)),
    [],
  )
  return { accounts: registered.length, waiting: unverified.length }
}

function isVerification({ mail }: SmtpPeer['deliveries'][number]): boolean {
  return mail.subject.startsWith('Verify') || mail.link.includes('/verify')
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
