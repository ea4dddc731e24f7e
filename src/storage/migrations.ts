import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type DatabaseTarget, insertInto } from './database.ts'

export type Migration = {
  readonly name: string
  readonly sql: string
  readonly checksum: string
  /** The oldest schema whose version of the service works on this one, as the file declares it; undefined if there is none. */
  readonly usableFrom: string | undefined
}
export type AppliedMigration = {
  readonly name: string
  readonly checksum: string
  /** Missing before the migration that creates the column; null if the migration declares nothing. */
  readonly usable_from?: string | null
}
/** Receives the names of the migrations of a newer version that this version can work with. */
export type OnNewer = (names: readonly string[]) => void
export type MigrateOptions = {
  /** Other migrations than those of this version. */
  readonly folder?: string | undefined
  readonly onNewer?: OnNewer | undefined
}

export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url))

export const CREATE_HISTORY =
  'create table if not exists schema_migrations (name text primary key, checksum text not null, applied_at bigint not null)'
export const HISTORY_EXISTS = {
  sqlite: "select 1 from sqlite_schema where name = 'schema_migrations'",
  postgres: "select 1 from pg_class where oid = to_regclass('schema_migrations')",
}
// All columns: a database of an earlier version lacks usable_from.
export const READ_HISTORY = 'select * from schema_migrations order by name'
const USABLE_FROM = /^-- usable-from: (\d{4})$/m

/** The database cannot be brought to the state that this version of the service needs. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

/** The migrations of one database, in the order of their names. */
export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => {
      const sql = readFileSync(`${folder}/${name}`, 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex'), usableFrom: USABLE_FROM.exec(sql)?.[1] }
    })
}

/** The migrations that a database lacks, and the names of those that only a newer version has. */
type MigrationPlan = { readonly pending: Migration[]; readonly newer: readonly string[] }

/**
 * Compares the rows of READ_HISTORY with the migrations of this version. Throws if a migration was edited after it had been applied, or if
 * a newer version has applied one that this version cannot work with.
 */
export function planMigrations(
  kind: DatabaseTarget['kind'],
  history: readonly unknown[],
  folder = `${MIGRATIONS_FOLDER}/${kind}`,
): MigrationPlan {
  const known = new Map(readMigrations(folder).map((migration) => [migration.name, migration]))
  const applied = new Map((history as readonly AppliedMigration[]).map((migration) => [migration.name, migration]))
  const pending = [...known.values()].filter(({ name }) => !applied.has(name))
  const newer = [...applied.values()].filter(({ name }) => !known.has(name))
  for (const { name, checksum } of known.values()) {
    if ((applied.get(name)?.checksum ?? checksum) !== checksum)
      throw new MigrationError(`Migration ${name} was edited after it had been applied to this database; restore its text`)
  }
  const newest = [...known.keys()].at(-1) ?? ''
  // With a gap, the database comes from another line of development, for which the newer migrations promise nothing.
  const unusable = newer.find(({ usable_from }) => !usable_from || newest < usable_from || pending.length > 0)
  if (unusable !== undefined) throw newerVersion(unusable.name)
  return { pending, newer: newer.map(({ name }) => name) }
}

export function newerVersion(migration: string): MigrationError {
  return new MigrationError(
    `The database was migrated by a newer version of Latchkey (it has ${migration}); install that version or a later one`,
  )
}

/** The statement that records an applied migration, and its values. The column usable_from exists from the first migration that declares one. */
export function recordOf({ name, checksum, usableFrom }: Migration): { readonly sql: string; readonly values: (string | number)[] } {
  const record = { name, checksum, applied_at: Date.now(), ...(usableFrom !== undefined && { usable_from: usableFrom }) }
  return { sql: insertInto({ table: 'schema_migrations', columnNames: Object.keys(record) }), values: Object.values(record) }
}
