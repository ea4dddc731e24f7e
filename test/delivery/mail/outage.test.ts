import assert from 'node:assert/strict'
import { test as nodeTest } from 'node:test'
import { MailError } from '../../../src/delivery/mail/transport.ts'
import { Refusal } from '../../../src/model/refusal.ts'
import { type Database, statement } from '../../../src/storage/database.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { claimMails, enqueueMail, measureOutbox, removeUnwantedMails } from '../../../src/storage/repositories/mail/mail.repository.ts'
import { insertUser } from '../../../src/storage/repositories/users/user.repository.ts'
import { member } from '../../support/app/actors.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { createInstantTransport, openPostOffice, outboxRows } from '../../support/servers/post-office.ts'

const BAN = statement('update users set banned = true where id = $1')
const TOUCH = statement('update outbox set attempts = attempts where recipient = $1')
const SERVER_DOWN = new MailError('server', 'no answer: ECONNREFUSED')
const TAKES_NO_MAIL = new MailError('server', 'MAIL FROM was answered: 451 4.3.1 no space left')
const REJECTED = new MailError('message', 'RCPT TO was answered: 451 later')
const FLOOD = 1000

function ask(testApp: TestApp, email: string, kind: 'verify' | 'reset' = 'reset'): Promise<void> {
  return enqueueMail(testApp.db, kind, email.toLowerCase(), testApp.clock.now())
}

async function flood(testApp: TestApp, count: number): Promise<void> {
  await testApp.db.transaction(async (tx) => {
    for (let index = 0; index < count; index++) await enqueueMail(tx, 'reset', `nobody${index}@example.com`, testApp.clock.now())
  })
}

/** A database that counts its statements, and can fail to look up accounts. */
function watched(db: Database) {
  const counts = { lookUps: 0, claims: 0, statements: 0, isReadable: true }
  const watching: Database = {
    ...db,
    async first(asked, ...values) {
      counts.statements++
      // An endless loop fails the test instead of running forever.
      if (asked.sql.includes('from users') && ++counts.lookUps < 100 && !counts.isReadable) throw new Refusal('unavailable', 'damaged')
      return db.first(asked, ...values)
    },
    async all(asked, ...values) {
      counts.statements++
      counts.claims++
      return db.all(asked, ...values)
    },
    async run(asked, ...values) {
      counts.statements++
      return db.run(asked, ...values)
    },
  }
  return { db: watching, counts }
}

test('mails whose accounts cannot be looked up are postponed, longer each time, with one line in the log, and sent afterwards', async (t) => {
  const testApp = await startApp(t)
  for (let count = 0; count < 6; count++) await ask(testApp, (await member(testApp)).email)
  const { db, counts } = watched(testApp.db)
  const transport = createInstantTransport()
  const { dispatcher, logged } = openPostOffice(testApp, transport, { db, random: () => 0 })
  counts.isReadable = false
  const delays = []
  for (let attempt = 1; attempt <= 5; attempt++) {
    await dispatcher.drain()
    assert.equal(counts.lookUps, 6 * attempt)
    const rows = await outboxRows(testApp)
    assert.deepEqual(
      rows.map(({ lease, attempts, last_error }) => ({ lease, attempts, last_error })),
      rows.map(() => ({ lease: null, attempts: attempt, last_error: 'away: the account could not be looked up' })),
    )
    delays.push((rows[0]?.due_at ?? 0) - testApp.clock.now())
    testApp.clock.advance({ ms: delays.at(-1) ?? 0 })
  }
  assert.deepEqual(delays, [2000, 4000, 8000, 12_000, 12_000])
  assert.deepEqual(
    logged.map((line) => JSON.parse(line).msg),
    ['mail waits for the database'],
  )
  counts.isReadable = true
  await dispatcher.drain()
  assert.deepEqual({ sent: transport.sent.length, rows: await outboxRows(testApp) }, { sent: 6, rows: [] })
})

test('the event loop turns between two claims', async (t) => {
  const testApp = await startApp(t)
  for (let count = 0; count < 40; count++) await ask(testApp, (await member(testApp)).email)
  const { db, counts } = watched(testApp.db)
  const { dispatcher } = openPostOffice(testApp, createInstantTransport(), { db })
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await dispatcher.drain()
  isOver = true
  assert.ok(counts.claims >= 10 && turns >= counts.claims - 1, `${turns} turns, ${counts.claims} claims`)
})

test('a flood of unwanted mails takes a few statements, and the mail behind it is sent', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  await flood(testApp, FLOOD)
  await ask(testApp, mia.email)
  const { db, counts } = watched(testApp.db)
  const transport = createInstantTransport()
  const { dispatcher, logged } = openPostOffice(testApp, transport, { db })
  await dispatcher.drain()
  assert.deepEqual(
    { sent: transport.sent.map(({ to }) => to), rows: await outboxRows(testApp), logged },
    { sent: [mia.email], rows: [], logged: [] },
  )
  assert.ok(counts.statements < 40, `${counts.statements} statements`)
})

test('a flood of unwanted mails waits while the server is down', async (t) => {
  const testApp = await startApp(t)
  await flood(testApp, 300)
  const transport = createInstantTransport()
  const { dispatcher } = openPostOffice(testApp, transport)
  transport.error = SERVER_DOWN
  await dispatcher.drain()
  assert.equal((await outboxRows(testApp)).filter(({ attempts }) => attempts === 1).length, 300)
})

test('only mails that are due and unwanted are removed', async (t) => {
  const testApp = await startApp(t)
  const [mia, banned, verified, fresh] = [
    await member(testApp),
    await member(testApp, { verified: false }),
    await member(testApp),
    await member(testApp, { verified: false }),
  ]
  await testApp.db.run(BAN, banned.id)
  await ask(testApp, mia.email)
  await ask(testApp, banned.email)
  await ask(testApp, banned.email, 'verify')
  await ask(testApp, verified.email, 'verify')
  await ask(testApp, fresh.email, 'verify')
  await ask(testApp, 'nobody@example.com')
  const now = testApp.clock.now()
  await enqueueMail(testApp.db, 'reset', 'later@example.com', now + 1)
  assert.equal(await removeUnwantedMails(testApp.db, now, 3), 2, 'the batch limits how many are examined')
  assert.equal(await removeUnwantedMails(testApp.db, now, 250), 2)
  assert.deepEqual(
    (await outboxRows(testApp)).map(({ recipient }) => recipient),
    [mia.email, fresh.email, 'later@example.com'],
  )
})

nodeTest('processes on one PostgreSQL skip the mails that another has locked, and never wait', async (t) => {
  const testApp = await startApp(t, { database: 'postgres' })
  for (const email of ['a@example.com', 'b@example.com', 'c@example.com']) await ask(testApp, email)
  const other = await openDatabase(testApp.config.database)
  const now = testApp.clock.now()
  await testApp.db.transaction(async (tx) => {
    await tx.run(TOUCH, 'a@example.com')
    const claimed = await claimMails(other, { lease: 'other', leaseEndsAt: now + 60_000, now, limit: 1, takesOver: true })
    assert.deepEqual(
      claimed.map(({ recipient }) => recipient),
      ['b@example.com'],
    )
    assert.equal(await removeUnwantedMails(other, now, 250), 1)
  })
  await other.close()
  assert.deepEqual(
    (await outboxRows(testApp)).map(({ recipient }) => recipient),
    ['a@example.com', 'b@example.com'],
  )
})

test('a registration during the removal of unwanted mails keeps its mail', async (t) => {
  const testApp = await startApp(t)
  const other = await openDatabase(testApp.config.database)
  const now = testApp.clock.now()
  for (let count = 0; count < 40; count++) {
    const email = `new${count}@example.com`
    await ask(testApp, email, 'verify')
    const profile = { email, firstName: 'Mia', lastName: 'Muster' }
    const account = { ...profile, emailKey: email, passwordHash: 'none', role: 'user', verified: false, createdAt: now } as const
    await Promise.all([
      testApp.db.transaction(async (tx) => {
        await insertUser(tx, account)
        await enqueueMail(tx, 'verify', email, now)
      }),
      ...Array.from({ length: 4 }, () => removeUnwantedMails(other, now, 250)),
    ])
  }
  await other.close()
  assert.equal((await outboxRows(testApp)).length, 40)
})

/** The metrics about mails that were requested more than a minute ago. */
async function measured({ db, clock }: TestApp) {
  return measureOutbox(db, clock.now(), clock.now() - 60_000)
}

test('the number of waiting mails is the same with and without an account, also when only a sending fails', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  for (const error of [REJECTED, TAKES_NO_MAIL])
    for (const email of [mia.email, 'nobody@example.com']) {
      const transport = createInstantTransport()
      const { dispatcher, logged } = openPostOffice(testApp, { ...transport, check: async () => undefined })
      transport.error = error
      await ask(testApp, email)
      for (let count = 0; count < 8; count++) {
        await dispatcher.drain()
        testApp.clock.advance({ seconds: 12 })
      }
      assert.deepEqual(await measured(testApp), { depth: 0, oldestAgeSeconds: 0 })
      assert.equal(logged.length, email === mia.email ? 1 : 0, 'it is logged once')
      testApp.clock.advance({ hours: 2 })
      await dispatcher.drain()
      await ask(testApp, email)
      await dispatcher.drain()
      testApp.clock.advance({ seconds: 61 })
      assert.deepEqual(await measured(testApp), { depth: 0, oldestAgeSeconds: 0 }, 'also when it was requested again')
      transport.error = undefined
      testApp.clock.advance({ minutes: 5 })
      await dispatcher.drain()
      assert.deepEqual(await outboxRows(testApp), [])
    }
})

test('while the server is down, a waiting mail is counted with and without an account', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const transport = createInstantTransport()
  const { dispatcher } = openPostOffice(testApp, transport)
  transport.error = SERVER_DOWN
  await ask(testApp, mia.email)
  await ask(testApp, 'nobody@example.com')
  for (let count = 0; count < 6; count++) {
    await dispatcher.drain()
    testApp.clock.advance({ seconds: 12 })
  }
  assert.deepEqual(await measured(testApp), { depth: 2, oldestAgeSeconds: 72 })
})
