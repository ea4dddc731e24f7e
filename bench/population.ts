import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { finished } from 'node:stream/promises'
import { createPasswords } from '../src/security/password.ts'
import type { DatabaseTarget } from '../src/storage/database.ts'
import { withConnection } from '../src/storage/postgres/connections.ts'
import { fold } from '../src/storage/repositories/users/user.repository.ts'
import { personOf } from './people.ts'

/** The password of every benchmark user, so that it is hashed only once. */
export const POPULATION_PASSWORD = 'correct horse battery staple'

export type OnUsers = (done: number, total: number) => void

const COLUMNS =
  'email, email_key, password_hash, first_name, first_name_folded, last_name, last_name_folded, role, verified, banned, created_at, last_login_at'
const BATCH_SIZE = 10_000
const CREATED_AT = Date.UTC(2026, 0, 1)

/** One user in twenty is banned, and one is not verified. Users whose number leaves the remainder 1 are neither. */
const SHARE = 20
const BANNED = 11
const UNVERIFIED = 12

export const createdAtOf = (number: number) => CREATED_AT + number
/** One user in three has never signed in. */
export const lastLoginOf = (number: number) => (number % 3 === 0 ? null : CREATED_AT + 2 * number)

/** A user who can log in, with about this number. */
export const ableToLogIn = (number: number) => Math.floor(number / SHARE) * SHARE + 1

/** Adds the users with the numbers after `from` up to `to` to a migrated database without other writers. */
export async function populate(target: DatabaseTarget, from: number, to: number, onUsers: OnUsers = () => undefined): Promise<void> {
  const passwordHash = await createPasswords().hash(POPULATION_PASSWORD)
  const batches = batchesOf(from, to, passwordHash, onUsers)
  if (target.kind === 'sqlite') fillSqlite(target.file, batches)
  else await fillPostgres(target.url, batches)
}

/** Every tenth key has the first name. */
export const KEY_NAMES = 'production staging backup laptop ci reports import export mobile test'.split(' ')
/** The number of a key is in its beginning. */
export const keyBeginningOf = (number: number) => `lk_${100_000 + (number % 900_000)}`

/** Gives every user an API key and the history of a mail. */
export async function populateLists(target: DatabaseTarget): Promise<void> {
  const now = Date.now()
  const name = KEY_NAMES.map((text, place) => `when ${place} then '${text}'`).join(' ')
  const statements = [
    `insert into api_keys (id, user_id, name, key_hash, scopes, is_active, created_at, prefix)
      select 'key-' || id, id, case id % ${KEY_NAMES.length} ${name} end || ' ' || id, 'hash-' || id, '[]', true, created_at,
        'lk_' || (100000 + id % 900000) from users`,
    `insert into mail_history (mail_id, kind, recipient, requested_at, at, attempts, errors, outcome, answer)
      select id, 'verify', email_key, ${now}, ${now}, 1, '[]', 'delivered', '250 2.0.0 OK' from users`,
  ]
  if (target.kind === 'sqlite') {
    const connection = new DatabaseSync(target.file)
    for (const text of statements) connection.exec(text)
    connection.exec('pragma wal_checkpoint(truncate)')
    connection.close()
    return
  }
  await withConnection(target.url, { statement_timeout: 0 }, async (client) => {
    for (const text of statements) await client.unsafe(text)
    await client.unsafe('vacuum analyze api_keys, mail_history')
  })
}

type Row = readonly (string | number | null)[]

function* batchesOf(from: number, to: number, passwordHash: string, onUsers: OnUsers): Iterable<Row[]> {
  for (let start = from; start < to; start += BATCH_SIZE) {
    const length = Math.min(BATCH_SIZE, to - start)
    yield Array.from({ length }, (_, place) => rowOf(start + place + 1, passwordHash))
    onUsers(start + length - from, to - from)
  }
}

function rowOf(number: number, passwordHash: string): Row {
  const { email, firstName, lastName } = personOf(number)
  const names = [firstName, fold(firstName), lastName, fold(lastName)]
  const [verified, banned] = [number % SHARE === UNVERIFIED ? 0 : 1, number % SHARE === BANNED ? 1 : 0]
  return [email, fold(email), passwordHash, ...names, 'user', verified, banned, createdAtOf(number), lastLoginOf(number)]
}

function fillSqlite(file: string, batches: Iterable<Row[]>): void {
  const connection = new DatabaseSync(file)
  // Durability does not matter, because the data can be created again.
  connection.exec('pragma synchronous = off; pragma cache_size = -1048576; pragma wal_autocheckpoint = 100000')
  // One statement for all rows, as in an import: the search index is written once per statement.
  const values = COLUMNS.split(', ').map((_, place) => `value ->> ${place}`)
  const insert = connection.prepare(
    `insert into users (${COLUMNS}) with given as materialized (select value from json_each(?)) select ${values.join(', ')} from given`,
  )
  for (const rows of batches) insert.run(JSON.stringify(rows))
  connection.exec('pragma wal_checkpoint(truncate)')
  connection.close()
}

function fillPostgres(url: string, batches: Iterable<Row[]>): Promise<void> {
  return withConnection(url, { statement_timeout: 0 }, async (client) => {
    const copy = await client.unsafe(`copy users (${COLUMNS}) from stdin`).writable()
    for (const rows of batches) {
      // No value contains a character that is special in the format of COPY.
      const text = rows.map((row) => `${row.map((value) => value ?? '\\N').join('\t')}\n`).join('')
      if (!copy.write(text)) await once(copy, 'drain')
    }
    copy.end()
    await finished(copy)
    // Autovacuum would do this within minutes. Until then, a search reads all entries that were not yet merged into its index.
    await client.unsafe('vacuum analyze users, users_search')
  })
}
