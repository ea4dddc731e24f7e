import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { DatabaseTarget } from '../../../src/storage/database.ts'
import { MIGRATIONS_FOLDER, readMigrations } from '../../../src/storage/migrations.ts'
import { migratePostgres } from '../../../src/storage/postgres/migrations.ts'
import { migrateSqlite } from '../../../src/storage/sqlite/migrations.ts'
import { type DatabaseKind, emptyPostgres, type FreshDatabase, freshDatabase, postgresAt, temporaryFolder } from './databases.ts'

/** A database without tables, whose schema the test may change. */
export async function emptyDatabase(t: TestContext, kind: DatabaseKind): Promise<FreshDatabase> {
  return kind === 'sqlite' ? freshDatabase(t, kind) : postgresAt(await emptyPostgres(t))
}

/** The number of the newest migration of this version, such as `0012`. */
export function newestNumber(kind: DatabaseKind): string {
  return readMigrations(join(MIGRATIONS_FOLDER, kind)).at(-1)?.name.slice(0, 4) ?? ''
}

/** A folder with the migrations of this version and further ones. */
export function furtherMigrations(t: TestContext, kind: DatabaseKind, further: Readonly<Record<string, string>>): string {
  const folder = join(temporaryFolder(t), 'migrations')
  cpSync(join(MIGRATIONS_FOLDER, kind), folder, { recursive: true })
  for (const [name, sql] of Object.entries(further)) writeFileSync(join(folder, name), sql)
  return folder
}

/** Migrates a database as an earlier version would, which has only the migrations up to a number. */
export function migrateAsEarlier(t: TestContext, target: DatabaseTarget, newest: string): Promise<unknown> {
  const folder = furtherMigrations(t, target.kind, {})
  for (const name of readdirSync(folder)) if (name.slice(0, 4) > newest) rmSync(join(folder, name))
  return migrateWith(folder, target)
}

/** Migrates a database as a later version would, which has further migrations. */
export function migrateAsLater(t: TestContext, target: DatabaseTarget, further: Readonly<Record<string, string>>): Promise<unknown> {
  return migrateWith(furtherMigrations(t, target.kind, further), target)
}

function migrateWith(folder: string, target: DatabaseTarget): Promise<unknown> {
  return target.kind === 'sqlite' ? migrateSqlite(target.file, { folder }) : migratePostgres(target.url, { folder })
}
