import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test as plainTest } from 'node:test'
import { inspectDatabase } from '../../src/storage/maintenance/inspection.ts'
import { MIGRATIONS_FOLDER, readMigrations } from '../../src/storage/migrations.ts'
import { migrate } from '../../src/storage/open.ts'
import { migratePostgres } from '../../src/storage/postgres/migrations.ts'
import { migrateSqlite } from '../../src/storage/sqlite/migrations.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { type ContractContext, temporaryFolder, test } from '../support/databases/databases.ts'
import { emptyDatabase, furtherMigrations, migrateAsLater, newestNumber } from '../support/databases/later-schema.ts'
import { json, refusedWith, runLatchkey } from '../support/processes/command-line.ts'
import { problems } from '../support/processes/doctor.ts'

const LATER = '9999-later.sql'
const FIRST_THAT_DECLARES = '0013'
const refusal = (name: string) =>
  `The database was migrated by a newer version of Latchkey (it has ${name}); install that version or a later one`

/** A database that a later version has migrated, with a migration that works with the schema `usableFrom` and later ones. */
async function later(t: ContractContext, usableFrom: string) {
  const target = await emptyDatabase(t, t.database)
  await migrateAsLater(t, target, { [LATER]: `-- usable-from: ${usableFrom}\ncreate table later (i bigint);` })
  const cwd = temporaryFolder(t)
  const run = (...args: string[]) => runLatchkey(args, { cwd, env: { DATABASE_URL: target.setting, SECRET_KEY: TEST_SECRET, PORT: '0' } })
  return { target, run }
}

test('a newer schema that declares itself usable from the own one is accepted, and reported', async (t) => {
  const { target, run } = await later(t, newestNumber(t.database))
  const reported: string[] = []
  assert.deepEqual(await migrate(target, (names) => reported.push(...names)), [])
  assert.deepEqual(reported, [LATER])
  const inspection = await inspectDatabase(target)
  assert.deepEqual({ pending: inspection?.pending, newer: inspection?.newer }, { pending: [], newer: [LATER] })
  assert.deepEqual(json(await run('migrate', '--json')), { applied: [], newer: [LATER] })
  assert.equal((await run('migrate')).stdout, `A newer version has applied ${LATER}. This version can use the database.\n`)
  assert.equal((await run('user', 'list')).code, 0)
})

test('doctor warns about a newer schema that this version can use, and does not take its tables for planted ones', async (t) => {
  const { run } = await later(t, newestNumber(t.database))
  const findings = JSON.parse((await run('doctor', '--json')).stdout)
  assert.match(
    problems(findings, 'database')[0] ?? '',
    /^warning: \S+ \S+ answers; a newer version of Latchkey has applied 9999-later\.sql, and this version can use the database$/,
  )
  assert.deepEqual(problems(findings, 'schema'), ['warning: could not be compared in full: it is newer than this version'])
})

test('a newer schema that needs a later version is refused, and not changed', async (t) => {
  const { target } = await later(t, '9998')
  await assert.rejects(migrate(target), { name: 'MigrationError', message: refusal(LATER) })
  await assert.rejects(inspectDatabase(target), { name: 'MigrationError', message: refusal(LATER) })
})

test('a newer schema is refused if one of several migrations needs a later version', async (t) => {
  const target = await emptyDatabase(t, t.database)
  await migrateAsLater(t, target, {
    '9997-one.sql': `-- usable-from: ${newestNumber(t.database)}\ncreate table one (i bigint);`,
    '9998-two.sql': '-- usable-from: 9997\ncreate table two (i bigint);',
    '9999-three.sql': `-- usable-from: ${newestNumber(t.database)}\ncreate table three (i bigint);`,
  })
  await assert.rejects(migrate(target), { name: 'MigrationError', message: refusal('9998-two.sql') })
})

test('a newer schema of another line of development, which lacks a migration of this version, is refused', async (t) => {
  const { target } = await later(t, newestNumber(t.database))
  const other = furtherMigrations(t, t.database, { '9998-own.sql': 'create table own (i bigint);' })
  const starting = target.kind === 'sqlite' ? migrateSqlite(target.file, { folder: other }) : migratePostgres(target.url, { folder: other })
  await assert.rejects(starting, { name: 'MigrationError', message: refusal(LATER) })
})

test('data is not moved out of a newer schema, whose tables this version does not know', async (t) => {
  const { target, run } = await later(t, newestNumber(t.database))
  const { code, stdout, stderr } = await run('migrate-data', '--from', target.setting, '--to', 'sqlite:moved.db')
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
  assert.ok(stderr.includes(refusal(LATER)), stderr)
})

plainTest('SQLite: backup copies a newer schema that this version can use; restore leaves that to the newer version', async (t) => {
  const { run } = await later(Object.assign(t, { database: 'sqlite' as const }), newestNumber('sqlite'))
  assert.equal((await run('backup', 'copy.db')).code, 0)
  refusedWith(await run('restore', 'copy.db'), 1, refusal(LATER))
})

plainTest('every migration from 0013 on declares the oldest schema that it works with, and the same one for both databases', () => {
  const declared = (kind: 'sqlite' | 'postgres') =>
    readMigrations(join(MIGRATIONS_FOLDER, kind))
      .filter(({ name }) => name >= FIRST_THAT_DECLARES)
      .map(({ name, usableFrom }) => ({ name, usableFrom }))
  assert.deepEqual(declared('sqlite'), declared('postgres'))
  for (const { name, usableFrom } of declared('sqlite')) {
    assert.ok(
      usableFrom !== undefined,
      `${name} has to declare \`-- usable-from: NNNN\`, the oldest schema whose version works on it (its own number if none does)`,
    )
    assert.ok(
      readdirSync(join(MIGRATIONS_FOLDER, 'sqlite')).some((file) => file.startsWith(usableFrom)),
      `${name}: there is no migration ${usableFrom}`,
    )
    assert.ok(usableFrom <= name, `${name} declares a later migration`)
  }
})
