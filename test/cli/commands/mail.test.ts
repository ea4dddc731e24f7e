import assert from 'node:assert/strict'
import { statement } from '../../../src/storage/database.ts'
import { claimMails, enqueueMail, findMail, giveUpMail, postponeMail } from '../../../src/storage/repositories/mail/mail.repository.ts'
import { test } from '../../support/databases/databases.ts'
import { type CommandLine, commandLine, done, refusedWith } from '../../support/processes/command-line.ts'

const REQUESTED_AT = Date.UTC(2026, 0, 2, 3, 4, 5)
const REQUESTED = '2026-01-02T03:04:05.000Z'
const TOUCH = statement('update outbox set lease = $2, due_at = $3 where id = $1')

/** Mail 1 is pending, mail 2 was tried once, mail 3 failed for good, mail 4 is being sent. */
async function fourMails({ database }: CommandLine) {
  const db = await database()
  for (const name of ['ada', 'bob', 'cem', 'dan'])
    await enqueueMail(db, name === 'bob' ? 'reset' : 'verify', `${name}@example.com`, REQUESTED_AT)
  const claimed = await claimMails(db, { lease: 'lease', leaseEndsAt: REQUESTED_AT + 60_000, now: REQUESTED_AT, limit: 4, takesOver: true })
  const [ada, bob, cem, dan] = claimed.sort((one, other) => one.id - other.id)
  assert.ok(ada && bob && cem && dan)
  await db.run(TOUCH, ada.id, null, REQUESTED_AT)
  await postponeMail(db, bob, REQUESTED_AT + 5000, 'no answer: connect ECONNREFUSED …')
  await giveUpMail(db, cem, REQUESTED_AT + 9000, 'RCPT TO was answered: 550 no such user')
  await db.run(TOUCH, dan.id, 'lease', Date.now() + 3_600_000)
  return db
}

test('mail list shows pending and failed mails with the reason, and never a token', async (t) => {
  const line = await commandLine(t)
  done(await line.run(['mail', 'list']), 'ID  KIND  TO  STATE  ATTEMPTS  REQUESTED  LAST ERROR\n')
  await fourMails(line)
  done(
    await line.run(['mail', 'list']),
    [
      'ID  KIND    TO               STATE     ATTEMPTS  REQUESTED                 LAST ERROR',
      `1   verify  ada@example.com  waiting   0         ${REQUESTED}`,
      `2   reset   bob@example.com  retrying  1         ${REQUESTED}  no answer: connect ECONNREFUSED …`,
      `3   verify  cem@example.com  failed    1         ${REQUESTED}  RCPT TO was answered: 550 no such user`,
      `4   verify  dan@example.com  sending   0         ${REQUESTED}`,
      '',
    ].join('\n'),
  )
  const failed = await line.run(['mail', 'list', '--failed', '--json'])
  assert.deepEqual(JSON.parse(failed.stdout), [
    {
      id: 3,
      kind: 'verify',
      recipient: 'cem@example.com',
      state: 'failed',
      attempts: 1,
      requested_at: REQUESTED,
      due_at: null,
      failed_at: '2026-01-02T03:04:14.000Z',
      last_error: 'RCPT TO was answered: 550 no such user',
    },
  ])
})

test('mail show prints everything about one mail', async (t) => {
  const line = await commandLine(t)
  await fourMails(line)
  done(
    await line.run(['mail', 'show', '3']),
    [
      'Mail        3, verify',
      'To          cem@example.com',
      'State       failed',
      `Requested   ${REQUESTED}`,
      'Attempts    1',
      'Given up    2026-01-02T03:04:14.000Z',
      'Last error  RCPT TO was answered: 550 no such user',
      '',
    ].join('\n'),
  )
  assert.equal(JSON.parse((await line.run(['mail', 'show', '2', '--json'])).stdout).due_at, '2026-01-02T03:04:10.000Z')
  refusedWith(await line.run(['mail', 'show', '5']), 1, 'there is no such mail in the outbox; it may have been delivered or discarded')
  refusedWith(await line.run(['mail', 'show', 'cem@example.com']), 1, 'ID: should be the id of a mail, as `mail list` shows it')
})

test('mail retry makes a mail due now as if it were new, but not one that is being sent', async (t) => {
  const line = await commandLine(t)
  const db = await fourMails(line)
  const before = Date.now()
  const { state, attempts, last_error, failed_at } = JSON.parse((await line.run(['mail', 'retry', '3', '--json'])).stdout)
  assert.deepEqual({ state, attempts, last_error, failed_at }, { state: 'waiting', attempts: 0, last_error: null, failed_at: null })
  const mail = await findMail(db, 3)
  assert.ok(mail && mail.requestedAt >= before && mail.dueAt === mail.requestedAt)
  const sending = await findMail(db, 4)
  refusedWith(await line.run(['mail', 'retry', '4']), 1, 'this mail is being sent right now; try again in a minute')
  assert.deepEqual(await findMail(db, 4), sending)
})

test('mail discard deletes the mails that standard input names, continues after a failure and exits with 1', async (t) => {
  const line = await commandLine(t)
  const db = await fourMails(line)
  const { code, stdout, stderr } = await line.run(['mail', 'discard', '-', '--json'], '# the failed ones\n3\n\n4\n1\r\n')
  assert.equal(code, 1)
  assert.deepEqual(
    JSON.parse(stdout).map(({ id }: { id: number }) => id),
    [3, 1],
  )
  assert.equal(stderr, 'latchkey: 4: this mail is being sent right now; try again in a minute\nlatchkey: 1 of 3 failed\n')
  assert.deepEqual(await Promise.all([1, 2, 3, 4].map(async (id) => (await findMail(db, id)) !== undefined)), [false, true, false, true])
})

test('mail list --to shows what became of the mails to an address, and mail test sends one', async (t) => {
  const line = await commandLine(t)
  await fourMails(line)
  done(await line.run(['mail', 'list', '--to', 'nobody@example.com']), 'REQUESTED  KIND  STATE  ATTEMPTS  LAST CHANGE  DETAIL\n')
  const [waiting] = JSON.parse((await line.run(['mail', 'list', '--to', 'Ada@example.com', '--json'])).stdout)
  assert.deepEqual(waiting, {
    kind: 'verify',
    recipient: 'ada@example.com',
    state: 'waiting',
    requested_at: REQUESTED,
    changed_at: REQUESTED,
    attempts: 0,
    errors: [],
    answer: null,
  })
  const smtp = { SMTP_URL: 'smtp://127.0.0.1:1' }
  const { code, stderr } = await line.run(['mail', 'test', 'ops@example.com'], undefined, smtp)
  assert.equal(code, 1)
  assert.match(stderr, /^latchkey: the test mail was not accepted: no answer: connect ECONNREFUSED/)
  const [test] = JSON.parse((await line.run(['mail', 'list', '--to', 'ops@example.com', '--json'])).stdout)
  assert.deepEqual([test.kind, test.state, test.attempts, test.errors.length], ['test', 'given_up', 1, 1])
  refusedWith(await line.run(['mail', 'test', 'ops']), 1, 'ADDRESS: should be an e-mail address')
})
