import assert from 'node:assert/strict'
import { Refusal } from '../../src/model/refusal.ts'
import { type Database, statement } from '../../src/storage/database.ts'
import { claimMails, enqueueMail, extendLease, postponeMail, releaseMail } from '../../src/storage/repositories/mail/mail.repository.ts'
import { insertRows } from '../../src/storage/tables.ts'
import { member } from '../support/app/actors.ts'
import { until } from '../support/app/eventually.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { type ContractContext, test } from '../support/databases/databases.ts'
import { createHeldTransport, createInstantTransport, openPostOffice, outboxRows } from '../support/servers/post-office.ts'

const INSERT = statement(insertRows('outbox', { keepsIds: false }))
const LEASE_SECONDS = 12
const NEVER_MS = 2 ** 31 - 1

/** A mail that a dispatcher is sending until the test lets it finish. The mailbox of the test app is the second process. */
async function duringSending(t: ContractContext, renewalMs: number) {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  await enqueueMail(testApp.db, 'reset', mia.email, testApp.clock.now())
  const transport = createHeldTransport()
  const { dispatcher } = openPostOffice(testApp, transport, { stopDeadlineMs: 0, renewalMs })
  const drained = dispatcher.drain()
  await transport.untilPending(1)
  t.after(() => dispatcher.stop())
  return { testApp, mia, transport, drained }
}

async function secondsLeft(testApp: TestApp): Promise<number> {
  const [row] = await outboxRows(testApp)
  return ((row?.due_at ?? 0) - testApp.clock.now()) / 1000
}

test('a mail whose process crashed while sending is sent by another 12 seconds later, and not before', async (t) => {
  const { testApp, mia } = await duringSending(t, NEVER_MS)
  testApp.clock.advance({ seconds: LEASE_SECONDS - 1 })
  assert.equal(await testApp.mailbox.countFor(mia.email), 0)
  testApp.clock.advance({ seconds: 1 })
  assert.equal(await testApp.mailbox.countFor(mia.email), 1)
  assert.deepEqual(await outboxRows(testApp), [])
})

test('a sending that takes minutes is not repeated by a second process', async (t) => {
  const { testApp, mia, transport, drained } = await duringSending(t, 5)
  for (let seconds = 0; seconds < 300; seconds += 10) {
    testApp.clock.advance({ seconds: 10 })
    await until('the lease is renewed', async () => (await secondsLeft(testApp)) === LEASE_SECONDS)
    assert.equal(await testApp.mailbox.countFor(mia.email), 0)
  }
  transport.pending[0]?.accept()
  await drained
  assert.deepEqual({ sent: transport.sent.length, rows: await outboxRows(testApp) }, { sent: 1, rows: [] })
  assert.equal(await testApp.mailbox.countFor(mia.email), 0)
})

test('a lease that another process has taken over is neither renewed nor ended by its former owner', async (t) => {
  const testApp = await startApp(t)
  const { db, clock } = testApp
  await enqueueMail(db, 'reset', 'mia@example.com', clock.now())
  const claim = async (lease: string) => {
    const now = clock.now()
    const [mail] = await claimMails(db, { lease, leaseEndsAt: now + LEASE_SECONDS * 1000, now, limit: 1, takesOver: true })
    assert.ok(mail)
    return mail
  }
  const former = await claim('former')
  clock.advance({ seconds: LEASE_SECONDS })
  await claim('other')
  await extendLease(db, former, clock.now() + 99_000)
  await releaseMail(db, former, clock.now())
  await postponeMail(db, former, clock.now(), 'no answer: closed')
  const [row] = await outboxRows(testApp)
  assert.deepEqual({ lease: row?.lease, error: row?.last_error }, { lease: 'other', error: null })
  assert.equal(await secondsLeft(testApp), LEASE_SECONDS)
})

test('after an outage of the database, the process that is sending a mail has time to renew its lease before another takes over', async (t) => {
  const { testApp, mia } = await duringSending(t, NEVER_MS)
  let isAway = true
  const db: Database = {
    ...testApp.db,
    async all(...args) {
      if (isAway) throw new Refusal('unavailable')
      return testApp.db.all(...args)
    },
  }
  const transport = createInstantTransport()
  const { dispatcher } = openPostOffice(testApp, transport, { db })
  testApp.clock.advance({ seconds: 60 })
  await dispatcher.drain()
  isAway = false
  const zoe = await member(testApp)
  await enqueueMail(testApp.db, 'reset', zoe.email, testApp.clock.now())
  await dispatcher.drain()
  testApp.clock.advance({ seconds: LEASE_SECONDS - 1 })
  await dispatcher.drain()
  assert.deepEqual(
    transport.sent.map(({ to }) => to),
    [zoe.email],
  )
  testApp.clock.advance({ seconds: 1 })
  await dispatcher.drain()
  assert.deepEqual(
    transport.sent.map(({ to }) => to),
    [zoe.email, mia.email],
  )
})

test('1,400 mails, whose first ones were leased last by a process that was killed, are sent without delay, and those when the leases end', async (t) => {
  const testApp = await startApp(t)
  const now = testApp.clock.now()
  const rows = Array.from({ length: 1400 }, (_, index) => {
    const isLeased = index < 4
    const dueAt = isLeased ? now + LEASE_SECONDS * 1000 : now - 1400 + index
    const recipient = `${index}@example.com`
    const mail = { kind: 'password_changed', recipient, address: recipient, revision: 1, requested_at: now, attempts: 0 }
    return { ...mail, due_at: dueAt, lease: isLeased ? 'killed' : null }
  })
  await testApp.db.run(INSERT, JSON.stringify(rows))
  const transport = createInstantTransport()
  const { dispatcher } = openPostOffice(testApp, transport)
  await dispatcher.drain()
  assert.equal(transport.sent.length, 1396)
  testApp.clock.advance({ seconds: LEASE_SECONDS })
  await dispatcher.drain()
  assert.deepEqual(transport.sent.map(({ to }) => to).sort(), rows.map(({ recipient }) => recipient).sort())
  assert.deepEqual(await outboxRows(testApp), [])
})
