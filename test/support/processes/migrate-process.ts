import { migratePostgres } from '../../../src/storage/postgres/migrations.ts'
import { migrateSqlite } from '../../../src/storage/sqlite/migrations.ts'

// A process of its own that migrates one database, for tests of several at once: kind, database, folder.
const [kind, database = '', folder] = process.argv.slice(2)
const applied = kind === 'sqlite' ? await migrateSqlite(database, folder) : await migratePostgres(database, folder)
process.stdout.write(JSON.stringify(applied.map(({ name }) => name)))
