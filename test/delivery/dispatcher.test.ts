import assert from 'node:assert/strict'
import { test as nodeTest } from 'node:test'
import pino from 'pino'
import { createDispatcher } from '../../src/delivery/dispatcher.ts'
import { retryDelayMs } from '../../src/delivery/mail/mail.delivery.ts'
import { MailError } from '../../src/delivery/mail/transport.ts'
import { Refusal } from '../../src/model/refusal.ts'
import { type Database, statement } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { claimMails, enqueueMail } from '../../src/storage/repositories/mail/mail.repository.ts'
import { member } from '../support/app/actors.ts'
import { until } from '../support/app/eventually.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { createHeldTransport, createInstantTransport, openPostOffice, outboxRows } from '../support/servers/post-office.ts'

const BAN = statement('update users set banned = true where id = $1')
const INSERT_FAILED = statement("insert into outbox (kind, recipient, requested_at, due_at, failed_at) values ('verify', $1, $2, $2, $2)")
const HOUR_MS = 3_600_000
const SERVER_DOWN = new MailError('server', 'no answer: ECONNREFUSED')
const REJECTED = new MailError('message', 'RCPT TO was answered: 451 later')
const NO_MAILBOX = new MailError('recipient', 'RCPT TO was answered: 550 5.1.1 no such user')

function ask(testApp: TestApp, email: string, kind: 'verify' | 'reset' = 'reset'): Promise<void> {
  return enqueueMail(testApp.db, kind, email.toLowerCase(), testApp.clock.now())
}

nodeTest('an entry that becomes due by a delivery that ends while entries are claimed is delivered at once', async () => {
  const sent: number[] = []
  const [claiming, saved] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const claims = [
    async () => [{ id: 1 }],
    async () => {
      claiming.resolve()
      await saved.promise
      return []
    },
    async () => [{ id: 2 }],
  ]
  const dispatcher = createDispatcher<{ id: number }>(
    {
      claim: async () => (await claims.shift()?.()) ?? [],
      attempt: async ({ id }) => {
        sent.push(id)
        await claiming.promise
        return async () => void setImmediate(saved.resolve)
      },
      prune: async () => false,
      renew: async () => undefined,
      release: async () => undefined,
      close: async () => undefined,
    },
    { now: () => 0, logger: pino({ level: 'silent' }), concurrency: 2 },
  )
  void dispatcher.drain()
  await dispatcher.drain()
  assert.deepEqual(sent, [1, 2])
})

test('repeated requests for a pending mail send one mail', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  for (let count = 0; count < 5; count++) await ask(testApp, mia.email)
  assert.deepEqual(
    (await outboxRows(testApp)).map(({ recipient, revision }) => ({ recipient, revision })),
    [{ recipient: mia.email, revision: 5 }],
  )
  assert.equal(await testApp.mailbox.countFor(mia.email), 1)
  assert.deepEqual(await outboxRows(testApp), [])
})

test('a verify and a reset mail to one address are two mails', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp, { verified: false })
  await ask(testApp, mia.email, 'verify')
  await ask(testApp, mia.email, 'reset')
  const [verify, reset] = await testApp.mailbox.messages()
  assert.equal(testApp.services.tokens.read(verify?.code ?? '', 'verify').userId, mia.id)
  assert.equal(testApp.services.tokens.read(reset?.code ?? '', 'reset').userId, mia.id)
})

test('an address without an account gets a row too, but no mail, and nothing is logged', async (t) => {
  const testApp = await startApp(t)
  const transport = createInstantTransport()
  const { dispatcher, logged } = openPostOffice(testApp, transport)
  await ask(testApp, 'nobody@example.com', 'verify')
  await ask(testApp, 'nobody@example.com', 'reset')
  assert.equal((await outboxRows(testApp)).length, 2)
  await dispatcher.drain()
  assert.deepEqual({ sent: transport.sent, rows: await outboxRows(testApp), logged }, { sent: [], rows: [], logged: [] })
})

test('while the server is down, a mail to an address without an account waits like any other, and is then dropped silently', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const transport = createInstantTransport()
  const { dispatcher, logged } = openPostOffice(testApp, transport)
  transport.error = SERVER_DOWN
  await ask(testApp, mia.email)
  await ask(testApp, 'nobody@example.com')
  await dispatcher.drain()
  testApp.clock.advance({ seconds: 2 })
  await dispatcher.drain()
  const waiting = (await outboxRows(testApp)).map(({ attempts, last_error }) => ({ attempts, last_error }))
  assert.deepEqual(waiting, [waiting[0], waiting[0]])
  testApp.clock.advance({ hours: 25 })
  await dispatcher.drain()
  assert.equal((await outboxRows(testApp)).filter(({ recipient }) => recipient === 'nobody@example.com').length, 0)
  assert.equal(logged.filter((line) => line.includes('given up')).length, 1)
})

test('an unwanted mail waits during an outage, even if the server was reached a moment ago', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const transport = createInstantTransport()
  const { dispatcher, logged } = openPostOffice(testApp, transport)
  await ask(testApp, mia.email)
  await dispatcher.drain()
  transport.error = SERVER_DOWN
  await ask(testApp, mia.email)
  await dispatcher.drain()
  for (let count = 0; count < 3; count++) {
    await ask(testApp, `nobody${count}@example.com`)
    await dispatcher.drain()
  }
  assert.equal((await outboxRows(testApp)).length, 4)
  assert.ok(!logged.join('').includes('mail can be sent again'))
})

test('a banned account gets no mail, and a verified one no verify mail', async (t) => {
  const testApp = await startApp(t)
  const banned = await member(testApp, { verified: false })
  const verified = await member(testApp)
  await testApp.db.run(BAN, banned.id)
  await ask(testApp, banned.email, 'verify')
  await ask(testApp, banned.email, 'reset')
  await ask(testApp, verified.email, 'verify')
  assert.deepEqual(await testApp.mailbox.messages(), [])
  assert.deepEqual(await outboxRows(testApp), [])
})

test('mail is sent to the stored address, as it was typed', async (t) => {
  const testApp = await startApp(t)
  await member(testApp, { email: 'Mia.Muster@example.com' })
  await ask(testApp, 'mia.muster@example.com')
  assert.deepEqual(
    (await testApp.mailbox.messages()).map(({ to }) => to),
    ['Mia.Muster@example.com'],
  )
})

test('concurrent claims never return the same mail', async (t) => {
  const testApp = await startApp(t)
  const count = 120
  for (let index = 0; index < count; index++) await ask(testApp, `user${index}@example.com`)
  const connections = await Promise.all(Array.from({ length: 4 }, () => openDatabase(testApp.config.database)))
  const now = testApp.clock.now()
  const claimed: number[] = []
  const claimUntilAllAreTaken = async (db: Database, lease: string) => {
    const deadline = performance.now() + 60_000
    while (claimed.length < count && performance.now() < deadline) {
      const mails = await claimMails(db, { lease, leaseEndsAt: now + 60_000, now, limit: 3, takesOver: true })
      claimed.push(...mails.map(({ id }) => id))
    }
  }
  await Promise.all(connections.flatMap((db, index) => ['a', 'b', 'c'].map((name) => claimUntilAllAreTaken(db, `${index}${name}`))))
  await Promise.all(connections.map((db) => db.close()))
  assert.equal(claimed.length, count)
  assert.equal(new Set(claimed).size, count)
})

test('requests during the sending cause exactly one more mail', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const transport = createHeldTransport()
  const { dispatcher } = openPostOffice(testApp, transport)
  await ask(testApp, mia.email)
  const drained = dispatcher.drain()
  await transport.untilPending(1)
  await ask(testApp, mia.email)
  await ask(testApp, mia.email)
  assert.equal(await testApp.mailbox.countFor(mia.email), 0, 'the lease holds although the mail was requested again')
  transport.pending[0]?.accept()
  await transport.untilPending(1)
  transport.pending[0]?.accept()
  await drained
  assert.equal(transport.sent.length, 2)
  assert.deepEqual(await outboxRows(testApp), [])
})

test('a mail that failed waits longer each time, and is sent once the server recovers', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const transport = createInstantTransport()
  const { dispatcher, logged } = openPostOffice(testApp, transport, { random: () => 0 })
  transport.error = SERVER_DOWN
  await ask(testApp, mia.email)
  const delays: number[] = []
  for (let attempt = 1; attempt <= 6; attempt++) {
    await dispatcher.drain()
    const [row] = await outboxRows(testApp)
    assert.deepEqual(
      { attempts: row?.attempts, lease: row?.lease, error: row?.last_error },
      { attempts: attempt, lease: null, error: `${attempt === 1 ? '' : 'away: '}${SERVER_DOWN.message}` },
    )
    delays.push((row?.due_at ?? 0) - testApp.clock.now())
    testApp.clock.advance({ ms: (delays.at(-1) ?? 0) - 1 })
    await dispatcher.drain()
    assert.equal((await outboxRows(testApp))[0]?.attempts, attempt, 'not before it is due')
    testApp.clock.advance({ ms: 1 })
  }
  assert.deepEqual(delays, [2000, 4000, 8000, 12_000, 12_000, 12_000])
  transport.error = undefined
  await dispatcher.drain()
  assert.equal(transport.sent.length, 1)
  assert.deepEqual(await outboxRows(testApp), [])
  assert.deepEqual(
    logged.map((line) => JSON.parse(line).msg),
    ['mail cannot be sent; it waits and is retried', 'mail can be sent again'],
    'an outage is two lines, however many mails wait',
  )
})

test('requesting a mail again while it waits for a retry neither speeds it up nor duplicates it', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const transport = createInstantTransport()
  const { dispatcher } = openPostOffice(testApp, transport)
  transport.error = SERVER_DOWN
  await ask(testApp, mia.email)
  await dispatcher.drain()
  const [before] = await outboxRows(testApp)
  await ask(testApp, mia.email)
  await dispatcher.drain()
  const [after] = await outboxRows(testApp)
  assert.deepEqual({ due: after?.due_at, attempts: after?.attempts }, { due: before?.due_at, attempts: 1 })
})

test('a mail is retried for a day after the latest request, then given up with an error in the log, without its address', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const transport = createInstantTransport()
  const { dispatcher, logged } = openPostOffice(testApp, transport)
  transport.error = REJECTED
  await ask(testApp, mia.email)
  testApp.clock.advance({ hours: 20 })
  await ask(testApp, mia.email)
  testApp.clock.advance({ hours: 23 })
  await dispatcher.drain()
  assert.equal((await outboxRows(testApp))[0]?.failed_at, null)
  testApp.clock.advance({ hours: 1 })
  await dispatcher.drain()
  assert.equal((await outboxRows(testApp))[0]?.failed_at, testApp.clock.now())
  const error = logged.map((line) => JSON.parse(line)).find(({ level }) => level === 50)
  assert.deepEqual(
    { msg: error?.msg, kind: error?.kind, attempts: error?.attempts, reason: error?.reason },
    { msg: 'a mail could not be delivered and is given up', kind: 'reset', attempts: 2, reason: REJECTED.message },
  )
  assert.ok(!logged.join().includes(mia.email))
  transport.error = undefined
  testApp.clock.advance({ days: 1 })
  await dispatcher.drain()
  assert.equal(transport.sent.length, 0, 'a mail that was given up is not retried by itself')
})

test('a mail to a mailbox that does not exist is given up at once, and tried again when it is requested again', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const transport = createInstantTransport()
  const { dispatcher } = openPostOffice(testApp, transport)
  transport.error = NO_MAILBOX
  await ask(testApp, mia.email)
  await dispatcher.drain()
  const [row] = await outboxRows(testApp)
  assert.deepEqual({ failed: row?.failed_at, error: row?.last_error }, { failed: testApp.clock.now(), error: NO_MAILBOX.message })
  transport.error = undefined
  await ask(testApp, mia.email)
  await dispatcher.drain()
  assert.equal(transport.sent.length, 1)
  assert.deepEqual(await outboxRows(testApp), [])
})

test('an address whose mail was given up is deleted after 30 days', async (t) => {
  const testApp = await startApp(t)
  const [mia, zoe] = [await member(testApp), await member(testApp)]
  const transport = createInstantTransport()
  const { dispatcher } = openPostOffice(testApp, transport)
  transport.error = NO_MAILBOX
  await ask(testApp, mia.email)
  await dispatcher.drain()
  testApp.clock.advance({ days: 30 })
  await ask(testApp, zoe.email)
  await dispatcher.drain()
  assert.deepEqual(
    (await outboxRows(testApp)).map(({ recipient }) => recipient),
    [zoe.email],
  )
})

test('addresses whose mails were given up are deleted after 30 days, however many, without another mail', async (t) => {
  const testApp = await startApp(t)
  const { dispatcher } = openPostOffice(testApp, createInstantTransport())
  const now = testApp.clock.now()
  await Promise.all(Array.from({ length: 300 }, (_, n) => testApp.db.run(INSERT_FAILED, `${n}@example.com`, now)))
  testApp.clock.advance({ days: 29 })
  await dispatcher.drain()
  assert.equal((await outboxRows(testApp)).length, 300)
  testApp.clock.advance({ days: 1 })
  await dispatcher.drain()
  assert.deepEqual(await outboxRows(testApp), [])
})

test('at most four mails are sent at once, and one that hangs delays no other', async (t) => {
  const testApp = await startApp(t)
  for (let index = 0; index < 7; index++) await ask(testApp, (await member(testApp)).email)
  const transport = createHeldTransport()
  const { dispatcher } = openPostOffice(testApp, transport)
  const drained = dispatcher.drain()
  await transport.untilPending(4)
  for (let sent = 1; sent <= 6; sent++) {
    assert.ok(transport.pending.length <= 4)
    transport.pending[1]?.accept()
    await transport.untilPending(Math.min(4, 7 - sent))
  }
  transport.pending[0]?.accept()
  await drained
  assert.equal(new Set(transport.sent.map(({ to }) => to)).size, 7)
})

test('a dispatcher sends pending mail at its start and when it is woken, and releases unfinished mail when it stops', async (t) => {
  const testApp = await startApp(t)
  const [mia, zoe, ann] = [await member(testApp), await member(testApp), await member(testApp)]
  const transport = createHeldTransport()
  const { dispatcher } = openPostOffice(testApp, transport, { stopDeadlineMs: 50 })
  await ask(testApp, mia.email)
  dispatcher.wake()
  assert.equal(transport.pending.length, 0, 'it does nothing before its start')
  dispatcher.start()
  await transport.untilPending(1)
  await ask(testApp, zoe.email)
  dispatcher.wake()
  await transport.untilPending(2)
  transport.pending[0]?.accept()
  await until('the first mail is removed', async () => (await outboxRows(testApp)).length === 1)
  await dispatcher.stop()
  await ask(testApp, ann.email)
  dispatcher.wake()
  assert.equal(transport.pending.length, 0)
  const rows = await outboxRows(testApp)
  assert.deepEqual(
    rows.map(({ recipient, lease }) => ({ recipient, lease })),
    [zoe, ann].map(({ email }) => ({ recipient: email, lease: null })),
  )
  testApp.clock.advance({ seconds: 2 })
  assert.equal(await testApp.mailbox.countFor(zoe.email), 1)
})

test('an outage of the database stops neither the dispatcher nor the process', async (t) => {
  const testApp = await startApp(t)
  const { dispatcher, logged } = openPostOffice(testApp, createInstantTransport())
  await testApp.db.close()
  await dispatcher.drain()
  await dispatcher.drain()
  assert.equal(logged.length, 1, 'it is logged once')
})

test('a mail that was sent during an outage of the database is removed afterwards, and not sent twice', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  await ask(testApp, mia.email)
  const transport = createInstantTransport()
  let failures = 0
  const db: Database = {
    ...testApp.db,
    // The removal is one transaction with the history of the mail.
    async transaction(...args) {
      if (transport.sent.length === 0 || failures === 1) return testApp.db.transaction(...args)
      failures++
      throw new Refusal('unavailable')
    },
  }
  const { dispatcher, logged } = openPostOffice(testApp, transport, { db })
  await dispatcher.drain()
  assert.deepEqual({ failures, sent: transport.sent.length, rows: await outboxRows(testApp) }, { failures: 1, sent: 1, rows: [] })
  assert.deepEqual(logged, [])
})

test('waking returns at once, and the work begins later', async (t) => {
  const testApp = await startApp(t)
  await ask(testApp, (await member(testApp)).email)
  const transport = createHeldTransport()
  // Delays the work by a second and the next poll by half a minute: a busy machine needs time to look at the outbox before either.
  const { dispatcher } = openPostOffice(testApp, transport, { random: () => 20 })
  dispatcher.start()
  await transport.untilPending(1)
  await ask(testApp, (await member(testApp)).email)
  for (let count = 0; count < 1000; count++) dispatcher.wake()
  await new Promise(setImmediate)
  assert.equal((await outboxRows(testApp)).filter(({ lease }) => lease === null).length, 1, 'nothing is claimed yet')
  await transport.untilPending(2)
  for (const held of [...transport.pending]) held.accept()
  await dispatcher.stop()
  assert.deepEqual(await outboxRows(testApp), [])
})

nodeTest('the delay doubles up to a limit, is shortened at random by up to half, and has a higher limit for an old rejected mail', () => {
  const longest = (scope: 'server' | 'message', ageMs: number) =>
    [0, 1, 2, 3, 10, 500].map((attempts) => retryDelayMs(scope, attempts, ageMs, () => 0))
  assert.deepEqual(longest('server', 0), [2000, 4000, 8000, 12_000, 12_000, 12_000])
  assert.deepEqual(longest('server', 20 * HOUR_MS), longest('server', 0))
  assert.deepEqual(longest('message', HOUR_MS), longest('server', 0))
  assert.deepEqual(longest('message', HOUR_MS + 1), [2000, 4000, 8000, 16_000, 300_000, 300_000])
  assert.equal(
    retryDelayMs('server', 0, 0, () => 0.999_999),
    1000,
  )
})
