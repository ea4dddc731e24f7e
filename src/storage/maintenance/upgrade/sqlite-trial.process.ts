import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { migrateSqlite } from '../../sqlite/migrations.ts'
import type { CopyMigrated } from './try-upgrade.ts'

// Migrates the copy of a database and prints how long each migration took. Parameters: file, and a folder with other migrations.
const [file = '', folder] = process.argv.slice(2)

const steps: { name: string; tookMs: number }[] = []
// While this connection is open, SQLite does not remove the write-ahead log, so that its size can be read.
const open = new DatabaseSync(file)
open.exec('pragma journal_mode = wal')
const bytes = () => Number(open.prepare('select page_count * page_size as bytes from pragma_page_count, pragma_page_size').get()?.['bytes'])

// Ctrl+C reaches this process too. The command ends it, and reports.
process.on('SIGINT', () => undefined)
try {
  const before = bytes()
  const startedAt = performance.now()
  await migrateSqlite(file, { folder, onApplied: (name, tookMs) => steps.push({ name, tookMs }) })
  const tookMs = performance.now() - startedAt
  const result: CopyMigrated = {
    steps,
    tookMs,
    size: { before, after: bytes(), indexGrowth: undefined, log: statSync(`${file}-wal`).size },
  }
  process.stdout.write(JSON.stringify(result))
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
open.close()
