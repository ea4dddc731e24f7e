import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { migrate, openDatabase } from '../../../src/storage/open.ts'
import { insertSession } from '../../../src/storage/repositories/session.repository.ts'
import { insertUser } from '../../../src/storage/repositories/user.repository.ts'
import { until } from '../../support/app/eventually.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { refusedWith } from '../../support/processes/command-line.ts'
import { finished, LATCHKEY, runNode, startNode } from '../../support/processes/processes.ts'

const WRITER = fileURLToPath(new URL('../../support/processes/writer-process.ts', import.meta.url))
const KEEP_SECRET =
  'The secret key is not in it: keep data/secret.key as well, in another place. Without it every session and mailed link ends.\n'

/** A folder with a database of 200 users and a session, and the command line in it. */
async function place(t: TestContext) {
  const folder = temporaryFolder(t)
  const file = join(folder, 'data', 'latchkey.db')
  await migrate({ kind: 'sqlite', file })
  const db = await openDatabase({ kind: 'sqlite', file })
  await db.transaction(async (tx) => {
    for (let n = 1; n <= 200; n++) {
      const names = { firstName: `Äda ${n}`, lastName: 'Alt', passwordHash: 'none', role: 'user', verified: true } as const
      await insertUser(tx, { ...names, email: `user-${n}@example.com`, emailKey: `user-${n}@example.com`, createdAt: n })
    }
    await insertSession(tx, { id: 'session', userId: 200, createdAt: 1, expiresAt: 2 })
  })
  await db.close()
  return { folder, file, run: (...args: string[]) => runNode(t, LATCHKEY, args, { cwd: folder }) }
}

function execute(file: string, sql: string): void {
  const connection = new DatabaseSync(file)
  connection.exec(sql)
  connection.close()
}

function contentOf(file: string): unknown {
  const connection = new DatabaseSync(file)
  const read = (table: string) => connection.prepare(`select * from ${table} order by 1`).all()
  const content = ['users', 'sessions', 'api_keys', 'outbox', 'schema_migrations', 'sqlite_sequence'].map(read)
  const found = connection.prepare("select count(*) as count from users_search where users_search match 'äda'").get()
  connection.close()
  return { content, found: found?.['count'] }
}

test('backup copies a database that is being written to, restore brings it back elsewhere, and refuses while it is in use', async (t) => {
  const source = await place(t)
  const writer = startNode(t, WRITER, [source.file], { cwd: source.folder })
  let told = ''
  writer.stdout?.setEncoding('utf8').on('data', (text: string) => (told += text))
  await once(writer.stdout ?? writer, 'data')
  const acknowledgedBefore = Number(told.trim().split('\n').at(-1))

  refusedWith(await source.run('backup', 'copies/one.db'), 1, 'copies does not exist; make it, or mount it, first')
  mkdirSync(join(source.folder, 'copies'))
  const backedUp = await source.run('backup', 'copies/one.db')
  assert.match(
    backedUp.stdout,
    /^Backed up data\/latchkey\.db to copies\/one\.db, \d+\.\d MB: \d+ users, 1 session, 0 API keys, 0 mails in the outbox\. The copy was checked\.\n/,
  )
  assert.deepEqual([backedUp.code, backedUp.stderr, backedUp.stdout.endsWith(KEEP_SECRET)], [0, '', true])
  const copied = Number(/(\d+) users/.exec(backedUp.stdout)?.[1])
  assert.deepEqual(readdirSync(join(source.folder, 'copies')), ['one.db'])
  assert.equal(statSync(join(source.folder, 'copies', 'one.db')).mode & 0o777, 0o600)
  assert.ok(copied >= acknowledgedBefore, 'what was acknowledged before is in the copy')

  const before = statSync(source.file).ino
  refusedWith(
    await source.run('restore', 'copies/one.db'),
    1,
    'data/latchkey.db is in use; stop the service, and everything else that has it open, and try again',
  )
  writer.stdin?.end()
  await once(writer, 'close')
  const acknowledged = told.trim().split('\n').length + 200
  assert.ok(acknowledged > copied, 'writing went on during the backup')

  const elsewhere = temporaryFolder(t)
  const restored = await runNode(t, LATCHKEY, ['restore', join(source.folder, 'copies/one.db')], { cwd: elsewhere })
  assert.deepEqual([restored.code, restored.stderr], [0, ''])
  const target = join(elsewhere, 'data', 'latchkey.db')
  assert.deepEqual(contentOf(target), contentOf(join(source.folder, 'copies', 'one.db')))
  assert.deepEqual([statSync(target).mode & 0o777, statSync(join(elsewhere, 'data')).mode & 0o777], [0o600, 0o700])

  const back = await source.run('restore', 'copies/one.db')
  assert.deepEqual([back.code, back.stderr], [0, ''])
  const aside = /kept as data\/(latchkey\.db\.before-restore-\d{8}T\d{6}Z);/.exec(back.stdout)?.[1] ?? ''
  const kept = new DatabaseSync(join(source.folder, 'data', aside))
  assert.equal(kept.prepare('select count(*) as count from users').get()?.['count'], acknowledged)
  kept.close()
  assert.equal(statSync(join(source.folder, 'data', aside)).mode & 0o777, 0o600)
  assert.deepEqual(contentOf(source.file), contentOf(join(source.folder, 'copies', 'one.db')))
  assert.equal(statSync(source.file).ino, before)
})

test('backup replaces nothing without --force, and never the database itself', async (t) => {
  const { folder, file, run } = await place(t)
  writeFileSync(join(folder, 'precious'), 'precious')
  refusedWith(await run('backup', 'precious'), 1, 'precious exists already; name another file, or replace it with --force')
  assert.equal(readFileSync(join(folder, 'precious'), 'utf8'), 'precious')
  refusedWith(
    await run('backup', 'data/../data/latchkey.db', '--force'),
    1,
    'data/../data/latchkey.db is the database itself; name another file',
  )
  const { stderr } = await run('backup', '/proc/one.db')
  assert.match(stderr, /^latchkey: \/proc\/one\.db was not written: [^\n]+\n$/)
  const { code } = await run('backup', 'precious', '--force')
  assert.equal(code, 0)
  assert.deepEqual(contentOf(join(folder, 'precious')), contentOf(file))
})

test('restore refuses what is no sound copy, and leaves the database alone', async (t) => {
  const { folder, file, run } = await place(t)
  const content = contentOf(file)
  writeFileSync(join(folder, 'notes.txt'), 'not a database at all, but long enough to look like something'.repeat(99))
  const foreign = new DatabaseSync(join(folder, 'foreign.db'))
  foreign.exec('create table cats (name text)')
  foreign.close()
  await run('backup', 'newer.db')
  const newer = new DatabaseSync(join(folder, 'newer.db'))
  newer.exec("insert into schema_migrations values ('9999-later.sql', 'x', 1)")
  newer.close()
  refusedWith(await run('restore', 'nothing.db'), 1, 'nothing.db does not exist')
  refusedWith(await run('restore', 'notes.txt'), 1, 'notes.txt is not a SQLite database, or it is damaged')
  refusedWith(await run('restore', 'foreign.db'), 1, 'foreign.db is not a database of Latchkey')
  refusedWith(
    await run('restore', 'newer.db'),
    1,
    'The database was migrated by a newer version of Latchkey (it has 9999-later.sql); install that version or a later one',
  )
  assert.deepEqual(contentOf(file), content)
  assert.deepEqual(readdirSync(join(folder, 'data')), ['latchkey.db'])
})

test('restore refuses a backup with a planted trigger in one line, and accepts an index of the operator', async (t) => {
  const { run, folder } = await place(t)
  await run('backup', 'good.db')
  for (const name of ['trigger.db', 'index.db']) copyFileSync(join(folder, 'good.db'), join(folder, name))
  execute(join(folder, 'index.db'), 'create index by_creation on users (created_at)')
  assert.equal((await run('restore', 'index.db')).code, 0)
  execute(
    join(folder, 'trigger.db'),
    "create trigger promote after insert on sessions begin update users set role = 'admin' where id = new.user_id; end",
  )
  refusedWith(await run('restore', 'trigger.db'), 1, 'trigger.db has a foreign schema: trigger promote is not part of Latchkey')
})

test('restore puts a damaged database aside, whole, and heals it', async (t) => {
  const { folder, file, run } = await place(t)
  const content = contentOf(file)
  await run('backup', 'good.db')
  writeFileSync(file, 'overwritten by mistake'.repeat(1000))
  const { code, stdout, stderr } = await run('restore', 'good.db')
  assert.deepEqual([code, stderr], [0, ''])
  assert.deepEqual(contentOf(file), content)
  const aside = /kept as data\/(\S+);/.exec(stdout)?.[1] ?? ''
  assert.match(readFileSync(join(folder, 'data', aside), 'utf8'), /^overwritten by mistake/)
})

test('backup and restore say how PostgreSQL does it, without its password, and end with 1', async (t) => {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'x'))
  const env = { DATABASE_URL: 'postgres://me:hunter22@db.example.com/accounts', SECRET_KEY: 'Zq3vT9xLk2mN8pR5wY7bC4dF6gH1jS0u' }
  const words = 'DATABASE_URL: names a PostgreSQL database, which has its own tools; use:'
  refusedWith(
    await runNode(t, LATCHKEY, ['backup', 'one.dump'], { cwd, env }),
    1,
    `${words} pg_dump --format=custom --file=one.dump "$DATABASE_URL"`,
  )
  refusedWith(
    await runNode(t, LATCHKEY, ['restore', 'one.dump'], { cwd, env }),
    1,
    `${words} pg_restore --clean --if-exists --dbname="$DATABASE_URL" one.dump`,
  )
  assert.equal(existsSync(join(cwd, 'one.dump')), false)
  refusedWith(
    await runNode(t, LATCHKEY, ['backup', 'one.db'], { cwd }),
    1,
    'DATABASE_URL: there is no database at data/latchkey.db, or this account may not look into its folder; nothing was backed up',
  )
  assert.deepEqual(readdirSync(cwd), ['x'])
})

test('restores that follow each other in one second each keep what was there', async (t) => {
  const { folder, file, run } = await place(t)
  await run('backup', 'small.db')
  const empty = new DatabaseSync(join(folder, 'small.db'))
  empty.exec('delete from users')
  empty.close()
  // Whatever the clock says: the names of this minute are taken.
  const [minute = ''] =
    new Date()
      .toISOString()
      .replace(/[-:]/g, '')
      .match(/^\d{8}T\d{4}/) ?? []
  const taken = Array.from({ length: 60 }, (_, second) => `latchkey.db.before-restore-${minute}${String(second).padStart(2, '0')}Z`)
  for (const name of taken) writeFileSync(join(folder, 'data', name), 'precious')
  const { code, stdout } = await run('restore', 'small.db')
  assert.equal(code, 0)
  const aside = /kept as data\/(\S+);/.exec(stdout)?.[1] ?? ''
  assert.match(aside, /^latchkey\.db\.before-restore-\d{8}T\d{6}Z(-2)?$/)
  for (const name of taken) assert.equal(readFileSync(join(folder, 'data', name), 'utf8'), 'precious')
  assert.equal((contentOf(join(folder, 'data', aside)) as { found: number }).found, 200)
  assert.equal((contentOf(file) as { found: number }).found, 0)
})

test('restore refuses what is no file, and leaves the database as it is where it cannot be kept', async (t) => {
  const { folder, file, run } = await place(t)
  const content = contentOf(file)
  refusedWith(await run('restore', '.'), 1, '. is not a file; name a copy that `backup` has written')
  await run('backup', 'good.db')
  if (process.getuid?.() !== 0 || spawnSync('prlimit', ['--version']).status !== 0) return t.skip('needs prlimit')
  // The copy of what is there does not fit; the shell sets the signal aside that would end the process.
  const limited = spawnSync(
    'sh',
    ['-c', 'trap "" XFSZ; exec prlimit --fsize=65536 "$0" "$1" restore good.db', process.execPath, LATCHKEY],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  )
  assert.equal(limited.status, 1)
  assert.match(limited.stderr, /^latchkey: data\/latchkey\.db was left as it is: what it holds could not be kept as data\/\S+: .+\n$/)
  assert.deepEqual(contentOf(file), content)
  assert.deepEqual(readdirSync(join(folder, 'data')), ['latchkey.db'])
})

test('a backup that is interrupted leaves nothing behind, and ends as a command that was interrupted does', async (t) => {
  const { folder, file } = await place(t)
  const large = new DatabaseSync(file)
  // More than fits into the moment between the first page and the signal.
  large.exec('create table ballast (content blob); insert into ballast values (zeroblob(400000000))')
  large.close()
  const child = startNode(t, LATCHKEY, ['backup', 'one.db'], { cwd: folder })
  const ended = finished(child)
  const isBegun = () => readdirSync(folder).some((name) => name.endsWith('.part') && statSync(join(folder, name)).size > 0)
  await until('the copy has begun', isBegun, 20_000)
  child.kill('SIGINT')
  const { code, stdout, stderr } = await ended
  assert.deepEqual([code, stdout, stderr], [130, '', 'latchkey: interrupted; what was begun has been taken back\n'])
  assert.deepEqual(readdirSync(folder), ['data'])
})
