import { existsSync } from 'node:fs'
import type { DatabaseTarget } from '../../database-target.ts'
import type { Trial, TrialOptions } from './trial.ts'

/** Tries the pending migrations on a copy (SQLite) or in a transaction that is rolled back. Returns undefined if there is no database yet. */
export async function tryUpgrade(target: DatabaseTarget, options: TrialOptions): Promise<Trial | undefined> {
  if (target.kind === 'postgres') {
    const { tryOnPostgres } = await import('./trial-postgres.ts')
    return tryOnPostgres(target.url, options)
  }
  if (!existsSync(target.file)) return undefined
  const { tryOnSqlite } = await import('./trial-sqlite.ts')
  return tryOnSqlite(target.file, options)
}
