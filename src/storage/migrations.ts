import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

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

/**
 * The migrations that are not applied yet. Throws if a migration was edited after it had been applied, or if a newer version has applied
 * one that this version cannot work with.
 */
export function pendingMigrations(known: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  const appliedNames = new Set(applied.map(({ name }) => name))
  const pending = known.filter(({ name }) => !appliedNames.has(name))
  for (const { name, checksum } of applied) {
    const migration = known.find((candidate) => candidate.name === name)
    if (migration !== undefined && migration.checksum !== checksum) {
      throw new MigrationError(`Migration ${name} was edited after it had been applied to this database; restore its text`)
    }
  }
  const newest = known.at(-1)?.name ?? ''
  // With a gap, the database comes from another line of development, for which the newer migrations promise nothing.
  const unusable = newerMigrations(known, applied).find(({ usable_from }) => !usable_from || newest < usable_from || pending.length > 0)
  if (unusable !== undefined) throw newerVersion(unusable.name)
  return pending
}

export function newerVersion(migration: string): MigrationError {
  return new MigrationError(
    `The database was migrated by a newer version of Latchkey (it has ${migration}); install that version or a later one`,
  )
}

/** The applied migrations that this version does not have. */
export function newerMigrations(known: readonly Migration[], applied: readonly AppliedMigration[]): AppliedMigration[] {
  const knownNames = new Set(known.map(({ name }) => name))
  return applied.filter(({ name }) => !knownNames.has(name))
}

/** The statement that records an applied migration, and its values. The column usable_from exists from the first migration that declares one. */
export function recordOf({ name, checksum, usableFrom }: Migration): { readonly sql: string; readonly values: (string | number)[] } {
  const values = [name, checksum, Date.now()]
  if (usableFrom === undefined) return { sql: 'insert into schema_migrations (name, checksum, applied_at) values ($1, $2, $3)', values }
  return {
    sql: 'insert into schema_migrations (name, checksum, applied_at, usable_from) values ($1, $2, $3, $4)',
    values: [...values, usableFrom],
  }
}

/** The names of the pending migrations and of those of a newer version. Throws as `pendingMigrations` does. */
export function compareWithHistory(
  kind: 'sqlite' | 'postgres',
  history: readonly unknown[],
  folder = `${MIGRATIONS_FOLDER}/${kind}`,
): { readonly pending: string[]; readonly newer: string[] } {
  // READ_HISTORY selects these columns.
  const applied = history as readonly AppliedMigration[]
  const known = readMigrations(folder)
  const namesOf = (migrations: readonly { readonly name: string }[]) => migrations.map(({ name }) => name)
  return { pending: namesOf(pendingMigrations(known, applied)), newer: namesOf(newerMigrations(known, applied)) }
}
