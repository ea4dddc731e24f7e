import { migratePostgres } from '../../../src/storage/postgres/migrations.ts'
import { migrateSqlite } from '../../../src/storage/sqlite/migrations.ts'

// Migrates a database, for tests with several processes. Parameters: kind, database, folder.
const [kind, database = '', folder] = process.argv.slice(2)
const applied = kind === 'sqlite' ? await migrateSqlite(database, { folder }) : await migratePostgres(database, { folder })
process.stdout.write(JSON.stringify(applied.map(({ name }) => name)))
