import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export type Migration = { readonly name: string; readonly sql: string; readonly checksum: string }
export type AppliedMigration = { readonly name: string; readonly checksum: string }

export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url))

export const CREATE_HISTORY =
  'create table if not exists schema_migrations (name text primary key, checksum text not null, applied_at bigint not null)'
export const READ_HISTORY = 'select name, checksum from schema_migrations order by name'

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
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    })
}

/** The migrations that are not applied yet. Throws if a newer version, or a migration that was edited since, was applied. */
export function pendingMigrations(known: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  for (const { name, checksum } of applied) {
    const migration = known.find((candidate) => candidate.name === name)
    if (migration === undefined) {
      throw new MigrationError(
        `The database was migrated by a newer version of Latchkey (it has ${name}); install that version or a later one`,
      )
    }
    if (migration.checksum !== checksum) {
      throw new MigrationError(`Migration ${name} was edited after it had been applied to this database; restore its text`)
    }
  }
  const appliedNames = new Set(applied.map(({ name }) => name))
  return known.filter(({ name }) => !appliedNames.has(name))
}
