import {
  type AppliedMigration,
  CREATE_HISTORY,
  MIGRATIONS_FOLDER,
  type Migration,
  MigrationError,
  pendingMigrations,
  READ_HISTORY,
  readMigrations,
} from '../migrations.ts'
import { begin, connect, deadlineIn, LOCK_DEADLINE_MS } from './connection.ts'

/** Applies the missing migrations in one transaction, under the write lock: a process that is killed half-way leaves nothing behind. */
export async function migrateSqlite(file: string, folder = `${MIGRATIONS_FOLDER}/sqlite`): Promise<Migration[]> {
  const connection = await connect(file)
  try {
    // A migration may rebuild a table that others reference, without deleting their rows. The references are checked below.
    connection.exec('pragma foreign_keys = off')
    await begin(connection, deadlineIn(LOCK_DEADLINE_MS))
    connection.exec(CREATE_HISTORY)
    const applied = connection.prepare(READ_HISTORY).all() as AppliedMigration[]
    const pending = pendingMigrations(readMigrations(folder), applied)
    const record = connection.prepare('insert into schema_migrations (name, checksum, applied_at) values (?, ?, ?)')
    for (const { name, sql, checksum } of pending) {
      connection.exec(sql)
      record.run(name, checksum, Date.now())
    }
    if (connection.prepare('pragma foreign_key_check').get() !== undefined) throw new MigrationError('A migration leaves broken references')
    connection.exec('commit')
    return pending
  } finally {
    connection.close()
  }
}
