import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test as plainTest } from 'node:test'
import { pruneEvents } from '../../../src/domain/audit/retention.ts'
import { statement } from '../../../src/storage/database.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { findMark, setMark } from '../../../src/storage/repositories/audit/event-seal.repository.ts'
import { threeAccounts } from '../../support/app/accounts.ts'
import { storedEvents } from '../../support/app/audit.ts'
import { TEST_SECRET } from '../../support/app/start-app.ts'
import { freshDatabase, temporaryFolder, test } from '../../support/databases/databases.ts'
import { commandLine, done, json, refusedWith } from '../../support/processes/command-line.ts'

const OTHER_SECRET = 'fK5pX8wQ2vB7nM4jH1tR6yU3eG9sD0aL'
const CHANGE = statement("update events set kind = 'user.verified' where id = 1")
const CUT_SECOND = ['delete from events where id >= 2', 'delete from event_seals where position = 2'].map((sql) => statement(sql))

test('audit list prints events with filters, as a table and as JSON', async (t) => {
  const { run, database } = await commandLine(t)
  await threeAccounts({ run, database })
  for (const id of ['2', '3']) assert.equal((await run(['user', 'ban', id])).code, 0)
  const kinds = async (...args: string[]) => {
    const { items } = json(await run(['audit', 'list', '--json', ...args])) as { items: { kind: string; target: number; via: string }[] }
    return items.map(({ kind, target, via }) => `${kind} ${target} ${via}`)
  }
  assert.deepEqual(await kinds(), ['user.banned 3 cli', 'user.banned 2 cli'])
  assert.deepEqual(await kinds('--target', 'bob@example.com'), ['user.banned 2 cli'])
  assert.deepEqual(await kinds('--kind', 'user.deleted'), [])
  const first = json(await run(['audit', 'list', '--json', '--size', '1'])) as { next: string }
  assert.deepEqual(await kinds('--cursor', first.next), ['user.banned 2 cli'])
  const { stdout, stderr } = await run(['audit', 'list', '--size', '1'])
  assert.match(stdout, /^ID +AT +KIND +ACTOR +VIA +TARGET +IP +KEY +DETAIL\n2 +\S+Z +user\.banned +cli +3\n$/)
  assert.equal(stderr, `older events: add --cursor ${first.next}\n`)
  assert.equal((await run(['audit', 'list', '--kind', 'nothing'])).code, 2)
})

test('audit erase seals and erases, audit export prints everything, audit verify finds a changed event', async (t) => {
  const { run, database } = await commandLine(t)
  const db = await threeAccounts({ run, database })
  assert.equal((await run(['user', 'edit', '2', '--first-name', 'Bobby'])).code, 0)
  done(await run(['user', 'delete', '2', '--yes']), 'deleted user 2 (Bob@example.com)\n')
  done(await run(['audit', 'erase', '2', '--yes']), 'erased address and details of 2 events of user 2\n')
  assert.deepEqual(
    (await storedEvents(db)).map(({ kind, detail }) => `${kind} ${detail}`),
    ['user.edited null', 'user.deleted null', 'data.erased {"count":2}'],
  )
  const exported = await run(['audit', 'export'])
  const lines = exported.stdout.trim().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).kind),
    ['user.edited', 'user.deleted', 'data.erased', 'data.exported'],
  )
  const verified = await run(['audit', 'verify'])
  assert.match(
    verified.stdout,
    /^The audit trail is in order: 2 sealed events, 2 waiting to be sealed\.\nWith erased address and details: 2 events\.\nThe chain ends at 2:[\w-]{43}\n$/,
  )
  await db.run(CHANGE)
  refusedWith(
    await run(['audit', 'verify']),
    1,
    'the audit trail was tampered with at event 1, position 1: the event or its link was changed; 0 events before it are in order',
  )
  const found = await run(['audit', 'verify', '--json'])
  assert.equal(found.code, 1)
  const { valid, problem } = JSON.parse(found.stdout)
  assert.deepEqual([valid, problem], [false, { event_id: 1, position: 1, reason: 'the event or its link was changed' }])
})

test('the trail verifies after migrate-data to the other kind of database, with the same secret only', async (t) => {
  const { run, database } = await commandLine(t)
  const db = await threeAccounts({ run, database })
  assert.equal((await run(['user', 'ban', '2'])).code, 0)
  assert.equal((await run(['audit', 'erase', '3', '--yes'])).code, 0)
  assert.equal((await run(['user', 'unban', '2'])).code, 0)
  const before = await storedEvents(db)
  const target = await freshDatabase(t, t.database === 'sqlite' ? 'postgres' : 'sqlite')
  const url = target.setting
  await db.close()
  assert.equal((await run(['migrate-data', '--from', 'env:DATABASE_URL', '--to', 'env:TARGET'], '', { TARGET: url })).code, 0)
  const moved = await openDatabase(target)
  assert.deepEqual(await storedEvents(moved), before)
  await moved.close()
  const verify = (settings: Readonly<Record<string, string>>) => run(['audit', 'verify', '--json'], '', { DATABASE_URL: url, ...settings })
  const { valid, sealed, unsealed } = json(await verify({})) as { valid: boolean; sealed: number; unsealed: number }
  assert.deepEqual({ valid, sealed, unsealed }, { valid: true, sealed: 1, unsealed: 1 })
  assert.equal((await verify({ SECRET_KEY: OTHER_SECRET })).code, 1)
})

test('audit reseal seals everything again after the secret was lost, and refuses while the trail is in order', async (t) => {
  const { run, database } = await commandLine(t)
  await threeAccounts({ run, database })
  assert.equal((await run(['user', 'edit', '2', '--first-name', 'Bobby'])).code, 0)
  assert.equal((await run(['audit', 'erase', '2', '--yes'])).code, 0)
  refusedWith(await run(['audit', 'reseal', '--yes']), 1, 'the audit trail is in order; there is no reason to seal it again')
  const lost = { SECRET_KEY: OTHER_SECRET }
  assert.equal((await run(['user', 'ban', '2'], '', lost)).code, 0)
  assert.equal((await run(['audit', 'verify'], '', lost)).code, 1)
  done(await run(['audit', 'reseal', '--yes'], '', lost), 'sealed 3 events again; what happened before is as it was found\n')
  const { valid, sealed, unsealed, erased } = json(await run(['audit', 'verify', '--json'], '', lost)) as Record<string, unknown>
  assert.deepEqual({ valid, sealed, unsealed, erased }, { valid: true, sealed: 4, unsealed: 0, erased: 1 })
  const kinds = (await storedEvents(await database())).map(({ kind }) => kind)
  assert.deepEqual(kinds, ['user.edited', 'data.erased', 'user.banned', 'audit.resealed'])
})

plainTest('the trail verifies after a backup is restored', async (t) => {
  const { run } = await commandLine(Object.assign(t, { database: 'sqlite' as const }))
  const folder = temporaryFolder(t)
  const there = { DATABASE_URL: `sqlite:${join(folder, 'restored.db')}` }
  const person = ['--email', 'ada@example.com', '--first-name', 'Ada', '--last-name', 'Alt', '--password', '-']
  assert.equal((await run(['user', 'create', ...person], 'correct horse battery\n')).code, 0)
  assert.equal((await run(['audit', 'erase', '7', '--yes'])).code, 0)
  assert.equal((await run(['backup', join(folder, 'copy.db')])).code, 0)
  assert.equal((await run(['restore', join(folder, 'copy.db')], '', there)).code, 0)
  const { valid, sealed } = json(await run(['audit', 'verify', '--json'], '', there)) as { valid: boolean; sealed: number }
  assert.deepEqual({ valid, sealed }, { valid: true, sealed: 1 })
})

test('audit verify --expect compares the chain with an end that was printed before', async (t) => {
  const { run, database } = await commandLine(t)
  const db = await threeAccounts({ run, database })
  const erase = () => run(['audit', 'erase', '3', '--yes'])
  assert.equal((await run(['user', 'ban', '2'])).code, 0)
  assert.equal((await erase()).code, 0)
  const end = /The chain ends at (\S+)/.exec((await run(['audit', 'verify'])).stdout)?.[1] ?? assert.fail()
  const earlier = await findMark(db, 'head')
  assert.equal((await run(['user', 'unban', '2'])).code, 0)
  assert.equal((await erase()).code, 0)
  const contained = await run(['audit', 'verify', '--expect', end])
  assert.match(
    contained.stdout,
    /^The audit trail is in order: 2 sealed events.*\nThe chain contains the expected end\.\nThe chain ends at 2:/,
  )
  const { head, contains_expected } = json(await run(['audit', 'verify', '--json', '--expect', end])) as Record<
    string,
    { position: number; hash: string }
  >
  assert.deepEqual([head?.position, contains_expected], [2, true])
  const later = `${head?.position}:${head?.hash}`
  for (const cut of CUT_SECOND) await db.run(cut)
  await db.transaction((tx) => setMark(tx, 'head', earlier ?? assert.fail()))
  assert.equal((await run(['audit', 'verify', '--expect', end])).code, 0)
  const problem =
    'the audit trail was tampered with at position 2: the chain ends before the expected end at position 2; 1 event before it is in order'
  refusedWith(await run(['audit', 'verify', '--expect', later]), 1, problem)
  const wrong = await run(['audit', 'verify', '--expect', '2'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /Should be a position and a hash, such as 812:/)
})

test('audit verify --expect refuses an end that was removed after its retention', async (t) => {
  const { run, database } = await commandLine(t)
  const db = await threeAccounts({ run, database })
  for (const command of ['ban', 'unban']) assert.equal((await run(['user', command, '2'])).code, 0)
  assert.equal((await run(['audit', 'erase', '3', '--yes'])).code, 0)
  await pruneEvents(db, [new TextEncoder().encode(TEST_SECRET)], 1, () => Date.now() + 2 * 24 * 60 * 60_000)
  const end = `1:${'x'.repeat(43)}`
  refusedWith(
    await run(['audit', 'verify', '--expect', end]),
    1,
    '--expect: the event at position 1 was removed after its retention; expect a later end',
  )
})
