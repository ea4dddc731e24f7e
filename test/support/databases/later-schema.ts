import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { DatabaseTarget } from '../../../src/storage/database.ts'
import { MIGRATIONS_FOLDER, readMigrations } from '../../../src/storage/migrations.ts'
import { migratePostgres } from '../../../src/storage/postgres/migrations.ts'
import { migrateSqlite } from '../../../src/storage/sqlite/migrations.ts'
import { type DatabaseKind, emptyPostgres, temporaryFolder } from './databases.ts'

/** A database without tables, whose schema the test may change. */
export async function emptyDatabase(t: TestContext, kind: DatabaseKind): Promise<DatabaseTarget & { readonly setting: string }> {
  if (kind === 'postgres') {
    const url = await emptyPostgres(t)
    return { kind, url, setting: url }
  }
  const file = join(temporaryFolder(t), 'latchkey.db')
  return { kind, file, setting: `sqlite:${file}` }
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

/** A folder with the migrations of this version up to a number. */
function earlierMigrations(t: TestContext, kind: DatabaseKind, newest: string): string {
  const folder = furtherMigrations(t, kind, {})
  for (const name of readdirSync(folder)) if (name.slice(0, 4) > newest) rmSync(join(folder, name))
  return folder
}

/** Migrates a database as an earlier version would, which has only the migrations up to a number. */
export async function migrateAsEarlier(t: TestContext, target: DatabaseTarget, newest: string): Promise<void> {
  const folder = earlierMigrations(t, target.kind, newest)
  if (target.kind === 'sqlite') await migrateSqlite(target.file, { folder })
  else await migratePostgres(target.url, { folder })
}

/** Migrates a database as a later version would, which has further migrations. */
export async function migrateAsLater(t: TestContext, target: DatabaseTarget, further: Readonly<Record<string, string>>): Promise<void> {
  const folder = furtherMigrations(t, target.kind, further)
  if (target.kind === 'sqlite') await migrateSqlite(target.file, { folder })
  else await migratePostgres(target.url, { folder })
}
