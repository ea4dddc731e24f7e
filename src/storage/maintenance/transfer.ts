import { createHash } from 'node:crypto'

/** A row in a form that both databases accept: booleans are 0 and 1, everything else is text, a number or null. */
export type TransferRow = Readonly<Record<string, string | number | null>>

/** The source or the target of a transfer, within one transaction. */
export type TransferSide = {
  count(table: TransferTable): Promise<number>
  /** All rows in batches, in any order. */
  rows(table: TransferTable): AsyncIterable<readonly TransferRow[]>
  insert(table: TransferTable, rows: readonly TransferRow[]): Promise<void>
  /** Deletes all rows. */
  clear(table: StartTable): Promise<void>
  /** The highest id that was ever assigned. */
  lastId(table: NumberedTable): Promise<number>
  setLastId(table: NumberedTable, id: number): Promise<void>
}

/** The target is not empty, or its rows differ from those of the source. */
export class TransferError extends Error {
  override readonly name = 'TransferError'
}

/** The tables with their columns, in the order in which they are filled: each references only tables before it. */
export const TRANSFER_TABLES = {
  users: [
    'id',
    'email',
    'email_key',
    'password_hash',
    'first_name',
    'last_name',
    'first_name_folded',
    'last_name_folded',
    'role',
    'banned',
    'verified',
    'email_version',
    'reset_version',
    'created_at',
    'last_login_at',
    'foreign_kind',
  ],
  sessions: ['id', 'user_id', 'created_at', 'expires_at', 'ip', 'user_agent', 'last_seen_at'],
  api_keys: [
    'seq',
    'id',
    'user_id',
    'name',
    'key_hash',
    'scopes',
    'is_active',
    'created_at',
    'last_used_at',
    'access',
    'expires_at',
    'prefix',
  ],
  retiring_secrets: ['key_hash', 'key_id', 'retired_at', 'expires_at'],
  signing_keys: ['id', 'public_jwk', 'private_key', 'created_at', 'signs_from', 'published_until'],
  secret_uses: ['fingerprint', 'first_used_at', 'last_used_at'],
  events: ['id', 'at', 'kind', 'actor', 'via', 'target', 'key_id', 'request_id', 'ip', 'detail', 'salt', 'mac', 'mac_key'],
  event_seals: ['position', 'event_id', 'sealed_at', 'digest', 'hash', 'mac', 'mac_key'],
  audit_marks: ['name', 'position', 'hash', 'marked_at', 'mac', 'mac_key'],
  outbox: [
    'id',
    'kind',
    'recipient',
    'revision',
    'requested_at',
    'attempts',
    'due_at',
    'lease',
    'last_error',
    'failed_at',
    'address',
    'detail',
  ],
  email_changes: ['user_id', 'email', 'version', 'reset_version', 'requested_at', 'confirmed_at'],
  webhook_deliveries: [
    'id',
    'message_id',
    'type',
    'user_id',
    'key_id',
    'session_id',
    'occurred_at',
    'requested_at',
    'attempts',
    'due_at',
    'lease',
    'last_error',
    'failed_at',
  ],
  webhook_stops: ['endpoint', 'stopped_at'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type TransferTable = keyof typeof TRANSFER_TABLES

/** The tables that the start of a service fills, before anybody has used it. Their rows in the target are replaced. */
const START_TABLES = ['signing_keys', 'secret_uses'] as const satisfies readonly TransferTable[]
export type StartTable = (typeof START_TABLES)[number]

/** The tables with generated ids, and the column of the id. An id is never assigned twice, not even after a transfer. */
export const NUMBERED_TABLES = {
  users: 'id',
  api_keys: 'seq',
  outbox: 'id',
  events: 'id',
  webhook_deliveries: 'id',
} as const satisfies Partial<Record<TransferTable, string>>

export type NumberedTable = keyof typeof NUMBERED_TABLES

export const TABLE_NAMES = Object.keys(TRANSFER_TABLES) as TransferTable[]
const START_NAMES: ReadonlySet<TransferTable> = new Set(START_TABLES)
const NUMBERED_NAMES = Object.keys(NUMBERED_TABLES) as NumberedTable[]

export type Moved = Readonly<Record<TransferTable, number>>
export type OnRows = (done: number, total: number) => void

/** Copies all rows, reads them back, and throws if they differ. The caller commits or rolls back. */
export async function transfer(from: TransferSide, to: TransferSide, onRows: OnRows): Promise<Moved> {
  await requireUnused(to)
  for (const table of START_TABLES) await to.clear(table)
  const counts = await countAll(from)
  // Every row is written once and read back once.
  const total = 2 * Object.values(counts).reduce((sum, count) => sum + count, 0)
  let done = 0
  const advance = (by: number) => {
    done += by
    onRows(done, total)
  }
  for (const table of TABLE_NAMES) {
    const sent = await moveTable(from, to, table, advance)
    const arrived = await digestTable(to, table, advance)
    if (sent !== arrived) throw new TransferError(`the rows of the table ${table} differ from those of the source; nothing was copied`)
  }
  for (const table of NUMBERED_NAMES) await to.setLastId(table, await from.lastId(table))
  return counts
}

/** A service may have been started on the target, but nobody may have used it. */
async function requireUnused(side: TransferSide): Promise<void> {
  const counts = await countAll(side)
  const filled = TABLE_NAMES.filter((table) => counts[table] > 0 && !START_NAMES.has(table)).map(
    (table) => `${counts[table]} rows in ${table}`,
  )
  if (filled.length > 0) throw new TransferError(`the target is not empty: ${filled.join(', ')}; use a new database`)
}

async function countAll(side: TransferSide): Promise<Moved> {
  const counts: Partial<Record<TransferTable, number>> = {}
  for (const table of TABLE_NAMES) counts[table] = await side.count(table)
  // The lines above count every table.
  return counts as Moved
}

async function moveTable(from: TransferSide, to: TransferSide, table: TransferTable, advance: (by: number) => void): Promise<string> {
  const digest = createDigest(table)
  for await (const rows of from.rows(table)) {
    for (const row of rows) digest.add(row)
    await to.insert(table, rows)
    advance(rows.length)
  }
  return digest.value()
}

async function digestTable(side: TransferSide, table: TransferTable, advance: (by: number) => void): Promise<string> {
  const digest = createDigest(table)
  for await (const rows of side.rows(table)) {
    for (const row of rows) digest.add(row)
    advance(rows.length)
  }
  return digest.value()
}

/** A digest that does not depend on the order of the rows: their number and the sum of their hashes. */
function createDigest(table: TransferTable) {
  let count = 0
  let sum = 0n
  return {
    add(row: TransferRow): void {
      const values = TRANSFER_TABLES[table].map((column) => row[column])
      count++
      sum += createHash('sha256').update(JSON.stringify(values)).digest().readBigUInt64BE(0)
    },
    value: () => `${count}:${sum}`,
  }
}
