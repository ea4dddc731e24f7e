import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { migrate, openDatabase } from '../../../src/storage/open.ts'
import { addUsage } from '../../../src/storage/repositories/plans/usage.repository.ts'
import { insertSession } from '../../../src/storage/repositories/sessions/session.repository.ts'
import { insertUser, setPlanName } from '../../../src/storage/repositories/users/user.repository.ts'
import { until } from '../../support/app/eventually.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { addFactors } from '../../support/databases/factors.ts'
import { json, refusedWith, runLatchkey } from '../../support/processes/command-line.ts'
import { finished, LATCHKEY, startNode } from '../../support/processes/processes.ts'

const WRITER = fileURLToPath(new URL('../../support/processes/writer-process.ts', import.meta.url))
const KEEP_SECRET =
  'The copy does not contain the secret key: keep data/secret.key too, in another place. Without it, every session and mailed link ends.\n'

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
    await addFactors(tx, 7)
    await setPlanName(tx, 7, 'pro')
    await addUsage(tx, [{ day: 20_000, userId: 7, keySeq: 1, allowed: 5, limited: 2 }])
    await insertSession(tx, { id: 'session', userId: 200, createdAt: 1, expiresAt: 2 })
  })
  await db.close()
  return { folder, file, run: (...args: string[]) => runLatchkey(args, { cwd: folder }) }
}

function execute(file: string, sql: string): void {
  const connection = new DatabaseSync(file)
  connection.exec(sql)
  connection.close()
}

function contentOf(file: string): unknown {
  const connection = new DatabaseSync(file)
  const read = (table: string) => connection.prepare(`select * from ${table} order by 1`).all()
  const content = [
    'users',
    'sessions',
    'totp_secrets',
    'recovery_codes',
    'passkeys',
    'identities',
    'unproven_accounts',
    'api_keys',
    'key_usage',
    'limit_windows',
    'outbox',
    'schema_migrations',
    'sqlite_sequence',
  ].map(read)
  const found = connection.prepare("select count(*) as count from users_search where users_search match 'äda'").get()
  connection.close()
  return { content, found: found?.['count'] }
}

test('backup copies a database while others write to it; restore works elsewhere, and refuses while the database is in use', async (t) => {
  const source = await place(t)
  const writer = startNode(t, WRITER, [source.file], { cwd: source.folder })
  let printed = ''
  writer.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text))
  await once(writer.stdout ?? writer, 'data')
  const acknowledgedBefore = Number(printed.trim().split('\n').at(-1))

  refusedWith(await source.run('backup', 'copies/one.db'), 1, 'copies does not exist; create it or mount it first')
  mkdirSync(join(source.folder, 'copies'))
  const backedUp = await source.run('backup', 'copies/one.db')
  assert.match(
    backedUp.stdout,
    /^Backed up data\/latchkey\.db to copies\/one\.db, \d+\.\d MB: \d+ users, 1 session, 0 API keys, 0 mails in the outbox\. The copy was verified\.\n/,
  )
  assert.deepEqual([backedUp.code, backedUp.stderr, backedUp.stdout.endsWith(KEEP_SECRET)], [0, '', true])
  const copied = Number(/(\d+) users/.exec(backedUp.stdout)?.[1])
  assert.deepEqual(readdirSync(join(source.folder, 'copies')), ['one.db'])
  assert.equal(statSync(join(source.folder, 'copies', 'one.db')).mode & 0o777, 0o600)
  assert.ok(copied >= acknowledgedBefore, 'every write that was acknowledged before is in the copy')

  const before = statSync(source.file).ino
  refusedWith(
    await source.run('restore', 'copies/one.db'),
    1,
    'data/latchkey.db is in use; stop the service and every other program that has it open, and try again',
  )
  writer.stdin?.end()
  await once(writer, 'close')
  const acknowledged = printed.trim().split('\n').length + 200
  assert.ok(acknowledged > copied, 'writes continued during the backup')

  const elsewhere = temporaryFolder(t)
  const restored = await runLatchkey(['restore', join(source.folder, 'copies/one.db')], { cwd: elsewhere })
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

test('backup replaces no file without --force, and never the database itself', async (t) => {
  const { folder, file, run } = await place(t)
  writeFileSync(join(folder, 'precious'), 'precious')
  refusedWith(await run('backup', 'precious'), 1, 'precious already exists; choose another file, or replace it with --force')
  assert.equal(readFileSync(join(folder, 'precious'), 'utf8'), 'precious')
  refusedWith(
    await run('backup', 'data/../data/latchkey.db', '--force'),
    1,
    'data/../data/latchkey.db is the database itself; choose another file',
  )
  const { stderr } = await run('backup', '/proc/one.db')
  assert.match(stderr, /^latchkey: \/proc\/one\.db was not written: [^\n]+\n$/)
  const { database, file: copy, bytes, rows } = json(await run('backup', 'precious', '--force', '--json')) as Record<string, unknown>
  assert.deepEqual([database, copy, bytes], ['data/latchkey.db', 'precious', statSync(join(folder, 'precious')).size])
  assert.deepEqual(rows, { users: 200, sessions: 1, api_keys: 0, outbox: 0 })
  assert.deepEqual(contentOf(join(folder, 'precious')), contentOf(file))
})

test('backup replaces a symbolic link with --force only, and never writes where it leads', async (t) => {
  const { folder, run } = await place(t)
  writeFileSync(join(folder, 'victim'), 'precious')
  for (const target of ['victim', 'nowhere']) {
    rmSync(join(folder, 'link'), { force: true })
    symlinkSync(target, join(folder, 'link'))
    refusedWith(await run('backup', 'link'), 1, 'link already exists; choose another file, or replace it with --force')
    json(await run('backup', 'link', '--force', '--json'))
    assert.equal(lstatSync(join(folder, 'link')).isFile(), true)
  }
  assert.equal(readFileSync(join(folder, 'victim'), 'utf8'), 'precious')
  assert.deepEqual(readdirSync(folder).sort(), ['data', 'link', 'victim'])
})

test('restore refuses an invalid copy and does not change the database', async (t) => {
  const { folder, file, run } = await place(t)
  const content = contentOf(file)
  writeFileSync(join(folder, 'notes.txt'), 'not a database at all, but long enough to look like something'.repeat(99))
  const foreign = new DatabaseSync(join(folder, 'foreign.db'))
  foreign.exec('create table cats (name text)')
  foreign.close()
  await run('backup', 'newer.db')
  const newer = new DatabaseSync(join(folder, 'newer.db'))
  newer.exec("insert into schema_migrations (name, checksum, applied_at) values ('9999-later.sql', 'x', 1)")
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

test('restore keeps a damaged database under another name and replaces it', async (t) => {
  const { folder, file, run } = await place(t)
  const content = contentOf(file)
  await run('backup', 'good.db')
  writeFileSync(file, 'overwritten by mistake'.repeat(1000))
  const { kept_as: keptAs, ...rest } = json(await run('restore', 'good.db', '--json')) as { kept_as: string }
  assert.deepEqual(rest, { database: 'data/latchkey.db', file: 'good.db', rows: { users: 200, sessions: 1, api_keys: 0, outbox: 0 } })
  assert.deepEqual(contentOf(file), content)
  assert.match(readFileSync(join(folder, keptAs), 'utf8'), /^overwritten by mistake/)
})

test('backup and restore name the tools of PostgreSQL, without its password, and exit with 1', async (t) => {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'x'))
  const env = { DATABASE_URL: 'postgres://me:hunter22@db.example.com/accounts', SECRET_KEY: 'Zq3vT9xLk2mN8pR5wY7bC4dF6gH1jS0u' }
  const message = 'DATABASE_URL: names a PostgreSQL database, which has its own tools; run:'
  refusedWith(
    await runLatchkey(['backup', 'one.dump'], { cwd, env }),
    1,
    `${message} pg_dump --format=custom --file=one.dump "$DATABASE_URL"`,
  )
  refusedWith(
    await runLatchkey(['restore', 'one.dump'], { cwd, env }),
    1,
    `${message} pg_restore --clean --if-exists --dbname="$DATABASE_URL" one.dump`,
  )
  assert.equal(existsSync(join(cwd, 'one.dump')), false)
  refusedWith(
    await runLatchkey(['backup', 'one.db'], { cwd }),
    1,
    'DATABASE_URL: there is no database at data/latchkey.db, or this user may not read its folder; nothing was backed up',
  )
  assert.deepEqual(readdirSync(cwd), ['x'])
})

test('two restores in one second each keep the previous database', async (t) => {
  const { folder, file, run } = await place(t)
  await run('backup', 'small.db')
  const empty = new DatabaseSync(join(folder, 'small.db'))
  empty.exec('delete from users')
  empty.close()
  // All names of this minute are taken, whatever the clock says.
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

test('restore refuses a folder, and changes nothing when the previous database cannot be kept', async (t) => {
  const { folder, file, run } = await place(t)
  const content = contentOf(file)
  refusedWith(await run('restore', '.'), 1, '. is not a file; choose a copy that `backup` has written')
  await run('backup', 'good.db')
  if (process.getuid?.() !== 0 || spawnSync('prlimit', ['--version']).status !== 0) return t.skip('needs prlimit')
  // The copy of the database does not fit. The shell ignores the signal that would end the process.
  const limited = spawnSync(
    'sh',
    ['-c', 'trap "" XFSZ; exec prlimit --fsize=65536 "$0" "$1" restore good.db', process.execPath, LATCHKEY],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  )
  assert.equal(limited.status, 1)
  assert.match(limited.stderr, /^latchkey: data\/latchkey\.db was not changed: its content could not be kept as data\/\S+: .+\n$/)
  assert.deepEqual(contentOf(file), content)
  assert.deepEqual(readdirSync(join(folder, 'data')), ['latchkey.db'])
})

const PAGE_BY_PAGE = `
  import sqlite from 'node:sqlite'
  import { syncBuiltinESMExports } from 'node:module'
  const { backup } = sqlite
  sqlite.backup = (source, path, options) => backup(source, path, { ...options, rate: 1 })
  syncBuiltinESMExports()`

test('an interrupted backup leaves no file behind, and exits like an interrupted command', async (t) => {
  const { folder, file } = await place(t)
  const large = new DatabaseSync(file)
  large.exec('create table ballast (content blob); insert into ballast values (zeroblob(100000000))')
  large.close()
  // Slow enough that the copy is not finished before the signal arrives.
  const nodeFlags = ['--import', `data:text/javascript,${encodeURIComponent(PAGE_BY_PAGE)}`]
  const child = startNode(t, LATCHKEY, ['backup', 'one.db'], { cwd: folder, nodeFlags })
  const ended = finished(child)
  const isBegun = () => readdirSync(folder).some((name) => name.endsWith('.part') && statSync(join(folder, name)).size > 0)
  await until('the copy has begun', isBegun)
  child.kill('SIGINT')
  const { code, stdout, stderr } = await ended
  assert.deepEqual([code, stdout, stderr], [130, '', 'latchkey: interrupted; nothing was changed\n'])
  assert.deepEqual(readdirSync(folder), ['data'])
})
