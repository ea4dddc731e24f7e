import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { before, test } from 'node:test'
import postgres from 'postgres'
import { declaredStatements, type Statement } from '../../src/storage/database.ts'
import { TABLES } from '../../src/storage/tables.ts'
import { freshDatabase, migrateFresh } from '../support/databases/databases.ts'

const REPOSITORIES = join(import.meta.dirname, '../../src/storage/repositories')
// These have few rows, however many users there are.
const SMALL_TABLES = ['signing_keys', 'secret_uses', 'audit_marks', 'webhook_stops']
const GROWING_TABLES = [...Object.keys(TABLES).filter((table) => !SMALL_TABLES.includes(table)), 'rate_limits', 'users_search']
const FILL = `
  insert into users (email, email_key, password_hash, first_name, last_name, first_name_folded, last_name_folded, role, created_at)
  select n || '@a.io', n || '@a.io', 'hash', 'f' || n, 'l' || n, 'f' || n, 'l' || n, 'user', n from generate_series(1, 10000) as n;
  insert into sessions (id, user_id, created_at, expires_at) select n, n, n, n from generate_series(1, 10000) as n;
  insert into api_keys (id, user_id, name, key_hash, scopes, created_at, expires_at) select n, n, 'key', n, '[]', n, n from generate_series(1, 10000) as n;
  insert into retiring_secrets (key_hash, key_id, retired_at, expires_at) select n, n, n, n from generate_series(1, 10000) as n;
  insert into events (at, kind, actor, via, target, salt, mac, mac_key)
  select n, 'kind' || n % 20, n, 'http', n, 'salt', n, 'key' from generate_series(1, 10000) as n;
  insert into event_seals (position, event_id, sealed_at, digest, hash, mac, mac_key)
  select n, n, n, 'digest', 'hash', 'mac', 'key' from generate_series(1, 10000) as n;
  insert into audit_marks (name, position, hash, marked_at, mac, mac_key) values ('head', 10000, 'hash', 1, 'mac', 'key');
  insert into outbox (kind, recipient, requested_at, due_at) select 'verify', n, n, n from generate_series(1, 10000) as n;
  insert into mail_history (mail_id, kind, recipient, requested_at, at, attempts, errors) select n, 'verify', n, n, n, 1, '[]' from generate_series(1, 10000) as n;
  insert into webhook_deliveries (message_id, type, user_id, occurred_at, requested_at, due_at) select n, 'type', n, n, n, n from generate_series(1, 10000) as n;
  insert into rate_limits (key, free_at) select n, n from generate_series(1, 10000) as n;
  insert into limit_windows (subject, period_ms, ends_at, used) select 'u' || n, 60000, n, n from generate_series(1, 10000) as n;
  insert into key_usage (day, user_id, key_seq, allowed, limited) select n / 100, n, n, n, n from generate_series(1, 10000) as n;
  insert into email_changes (user_id, email, version, reset_version, requested_at) select n, n, 1, 1, n from generate_series(1, 10000) as n;
  insert into totp_secrets (user_id, secret, sealed_with, created_at, last_step, salt) select n, 'secret', 'seal', n, n, 'salt' from generate_series(1, 10000) as n;
  insert into recovery_codes (user_id, code_hash) select n, 'hash' from generate_series(1, 10000) as n;
  insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name, backed_up, created_at)
  select n, n, n, 'key', 0, '[]', 'name', false, n from generate_series(1, 10000) as n;
  insert into identities (issuer, subject, user_id, provider, email, connected_at) select 'issuer', n, n, 'acme', '', n from generate_series(1, 10000) as n;
  insert into unproven_accounts (user_id) select n from generate_series(1, 10000) as n;
  insert into login_challenges (id, user_id, method, reset_version, expires_at) select n, n, 'password', 1, n from generate_series(1, 10000) as n;
  insert into hand_offs (id, user_id, session_id, code_challenge, expires_at) select n, n, n, 'challenge', n from generate_series(1, 10000) as n;
  insert into used_challenges (id, expires_at) select n, n from generate_series(1, 10000) as n;
  insert into user_data (user_id, profile, app) select n, '{}', '{}' from generate_series(1, 10000) as n;
  insert into invitations (email, email_key, first_name, last_name, role, created_at, expires_at, version)
  select n, n, 'f', 'l', 'user', n, n, n from generate_series(1, 10000) as n;
  analyze`

type Accepted = readonly (readonly [text: string, reason: string])[]

/** Statements that read a whole table, or look as if they did, by the beginning of their text, and why that is accepted. */
const ACCEPTED: Accepted = [
  ["select id from users where role = 'admin'", 'one row of the index of the admins, who are few'],
  ['select id from users limit 1', 'one row'],
  ['select (select min(id) from events) as first', 'the oldest event, by limit 1'],
  ['delete from event_seals where position', 'the first links, by limit; only `latchkey audit reseal`'],
  ['select count(*) as count from users', 'only `latchkey user export`, which reads all users anyway'],
  ['select count(*) as depth', 'mails that wait or failed: every five seconds at most, when the metrics are read'],
  ['select count(*) - count(failed_at) as pending, count(failed_at) as failed, min(', 'webhooks that wait or failed: as for mails'],
  ['delete from outbox where id', 'mails that wait or failed: every ten minutes'],
  ['delete from webhook_deliveries where id', 'webhooks that wait or failed: every ten minutes'],
  ['update webhook_deliveries set failed_at', 'webhooks that wait for a stopped receiver: every ten minutes'],
  ['update webhook_deliveries set waits_for = null where waits_for in', 'webhooks that wait or failed: every ten minutes'],
]
/** Plans without values expect large batches. With its values, or in a larger table, PostgreSQL looks up the rows of these by an index. */
const ACCEPTED_WITHOUT_VALUES: Accepted = [
  ['with due as materialized', 'claims a few mails'],
  ['with unwanted as materialized', 'a batch of mails'],
  [
    'with ready as materialized ( select id, user_id, due_at from webhook_deliveries where failed_at is null and waits_for is null and due_at <= $1 order',
    'a batch of webhooks whose turn has not come',
  ],
  ['select id, email_key from users where email_key in', 'a batch of an import'],
  ['select identities.issuer, identities.subject, users.email_key from identities join users', 'a batch of an import'],
  [
    'select users.id, users.email, users.first_name, users.last_name, users.role, users.banned, users.verified, users.created_at, users.last_login_at, users.plan, users.email_key, users.first_name_folded',
    'a batch of an import',
  ],
  ['update users set first_name = coalesce(given.first_name', 'a batch of an import'],
  ['delete from sessions where user_id in ( select users.id', 'a batch of an import'],
]

before(async () => {
  const files = readdirSync(REPOSITORIES, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  await Promise.all(files.map((file) => import(join(REPOSITORIES, file))))
})

test('every table that grows has rows before its plans are read', () => {
  const empty = GROWING_TABLES.filter((table) => table !== 'users_search' && !FILL.includes(`insert into ${table} `))
  assert.deepEqual(empty, [], 'add rows for them to FILL in test/storage/growth.test.ts')
})

test('no statement of the main thread reads a whole table that grows [sqlite]', async (t) => {
  const target = await freshDatabase(t, 'sqlite')
  await migrateFresh(target)
  assert.ok(target.kind === 'sqlite')
  const connection = new DatabaseSync(target.file)
  t.after(() => connection.close())
  const scans = shortStatements().map(({ sqliteSql: sql }) => ({ sql: flat(sql), scanned: scannedBySqlite(connection, sql) }))
  assert.deepEqual(scans.filter(isUnexpected(ACCEPTED)), [])
  const outdated = ACCEPTED.filter(([text]) => !scans.some(({ sql, scanned }) => scanned.length > 0 && sql.startsWith(text)))
  assert.deepEqual(outdated, [], 'accepted, but not needed')
})

test('no statement reads a whole table that grows [postgres]', async (t) => {
  const target = await freshDatabase(t, 'postgres')
  const sql = postgres(target.setting, { max: 1, onnotice: () => undefined })
  t.after(() => sql.end())
  await sql.unsafe(FILL).simple()
  const scans: Scan[] = []
  for (const statement of shortStatements()) {
    const plan = await sql.unsafe(`explain (generic_plan, costs off) ${statement.sql}`).simple()
    const scanned = plan.map((row) => /Seq Scan on (\w+)/.exec(String(row['QUERY PLAN']))?.[1] ?? '').filter(isGrowing)
    scans.push({ sql: flat(statement.sql), scanned })
  }
  assert.deepEqual(scans.filter(isUnexpected([...ACCEPTED, ...ACCEPTED_WITHOUT_VALUES])), [])
})

type Scan = { readonly sql: string; readonly scanned: readonly string[] }

/** Long reads run on a thread of their own, and PostgreSQL plans them with their values. */
function shortStatements(): readonly Statement<unknown>[] {
  return declaredStatements().filter(({ isLong, sqliteSql }) => !isLong && !sqliteSql.startsWith('pragma'))
}

/** The tables that are read from one end to the other, or an index of them. */
function scannedBySqlite(connection: DatabaseSync, sql: string): string[] {
  const aliases = new Map([...sql.matchAll(/\b(\w+) as (\w+)/g)].map(([, table = '', alias = '']) => [alias, table]))
  const plan = connection.prepare(`explain query plan ${sql}`).all()
  const names = plan.map(({ detail }) => /^SCAN (\w+)/.exec(String(detail))?.[1] ?? '')
  return names.map((name) => aliases.get(name) ?? name).filter(isGrowing)
}

function isGrowing(table: string): boolean {
  return GROWING_TABLES.includes(table)
}

function isUnexpected(accepted: Accepted): (scan: Scan) => boolean {
  return ({ sql, scanned }) => scanned.length > 0 && !accepted.some(([text]) => sql.startsWith(text))
}

function flat(sql: string): string {
  return sql.replace(/\s+/g, ' ').trim()
}
