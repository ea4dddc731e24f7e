import { createHash } from 'node:crypto'

/** A row as both databases can take it: booleans as 0 and 1, everything else text, number or null. */
export type TransferRow = Readonly<Record<string, string | number | null>>

/** One database, as the moving of data sees it: within one transaction, from its beginning to its end. */
export type TransferSide = {
  count(table: TransferTable): Promise<number>
  /** Every row, some at a time, in any order. */
  rows(table: TransferTable): AsyncIterable<readonly TransferRow[]>
  insert(table: TransferTable, rows: readonly TransferRow[]): Promise<void>
  /** The highest id that was ever given out. */
  lastId(table: NumberedTable): Promise<number>
  setLastId(table: NumberedTable, id: number): Promise<void>
}

/** The target of a move holds accounts already, or what arrived there is not what was sent. */
export class TransferError extends Error {
  override readonly name = 'TransferError'
}

/** In the order in which they may be filled: each refers to those before it alone. */
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
  retiring_secrets: ['key_hash', 'key_id', 'expires_at'],
  signing_keys: ['id', 'public_jwk', 'private_key', 'created_at', 'signs_from', 'published_until'],
  secret_uses: ['fingerprint', 'first_used_at', 'last_used_at'],
  outbox: ['id', 'kind', 'recipient', 'revision', 'requested_at', 'attempts', 'due_at', 'lease', 'last_error', 'failed_at'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type TransferTable = keyof typeof TRANSFER_TABLES

/** Tables that number their rows, and the column of the number. An id is never given out twice, in the new place neither. */
export const NUMBERED_TABLES = { users: 'id', api_keys: 'seq', outbox: 'id' } as const satisfies Partial<Record<TransferTable, string>>

export type NumberedTable = keyof typeof NUMBERED_TABLES

export const TABLE_NAMES = Object.keys(TRANSFER_TABLES) as TransferTable[]
const NUMBERED_NAMES = Object.keys(NUMBERED_TABLES) as NumberedTable[]

export type Moved = Readonly<Record<TransferTable, number>>
export type OnRows = (done: number, total: number) => void

/** Moves everything, reads it back, and throws unless it is the same. Whoever calls commits, or undoes. */
export async function transfer(from: TransferSide, to: TransferSide, onRows: OnRows): Promise<Moved> {
  await requireEmpty(to)
  const counts = await countAll(from)
  // Everything is written once and read back once.
  const total = 2 * Object.values(counts).reduce((sum, count) => sum + count, 0)
  let done = 0
  const advance = (by: number) => {
    done += by
    onRows(done, total)
  }
  for (const table of TABLE_NAMES) {
    const sent = await moveTable(from, to, table, advance)
    const arrived = await digestTable(to, table, advance)
    if (sent !== arrived) throw new TransferError(`what arrived in the table ${table} is not what was sent; nothing was moved`)
  }
  for (const table of NUMBERED_NAMES) await to.setLastId(table, await from.lastId(table))
  return counts
}

async function requireEmpty(side: TransferSide): Promise<void> {
  const counts = await countAll(side)
  const filled = TABLE_NAMES.filter((table) => counts[table] > 0).map((table) => `${counts[table]} rows in ${table}`)
  if (filled.length > 0) throw new TransferError(`the target is not empty: ${filled.join(', ')}; name a new database`)
}

async function countAll(side: TransferSide): Promise<Moved> {
  const counts: Partial<Record<TransferTable, number>> = {}
  for (const table of TABLE_NAMES) counts[table] = await side.count(table)
  // Every table was counted in the line above.
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

/** The same for the same rows in any order: the number of rows, and the sum of their hashes. */
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
