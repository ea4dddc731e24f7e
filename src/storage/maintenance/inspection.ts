import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { AuditMark } from '../../model/audit.ts'
import type { DatabaseTarget } from '../database.ts'
import { compareWithHistory, READ_HISTORY } from '../migrations.ts'
import { withConnection } from '../postgres/connections.ts'
import { OLDEST_UNSEALED } from '../repositories/audit/event-seal.repository.ts'
import { READ_FOREIGN_KINDS } from '../repositories/import/import.repository.ts'
import type { SchemaDifference } from './schema.ts'
import { comparePostgresSchema, compareSqliteSchema } from './schema.ts'

/** The state of a database, read without changing anything: not even a migration is applied. */
export type Inspection = AuditInspection & {
  /** Such as `PostgreSQL 18.1`. */
  readonly product: string
  readonly isReadOnly: boolean
  /** Why the service cannot use the database, if so. */
  readonly obstacle: string | undefined
  /** Whether the database belongs to this service. */
  readonly isOurs: boolean
  /** The names of the migrations that the next start will apply. */
  readonly pending: readonly string[]
  /** The names of the migrations of a newer version, if this version can work with them. */
  readonly newer: readonly string[]
  /** How the schema differs from what its migrations create, as far as this version knows them; undefined if it cannot be compared. */
  readonly differences: readonly SchemaDifference[] | undefined
  readonly admins: number
  /** The number of admins who can log in: verified and not banned. */
  readonly ableAdmins: number
  readonly pendingMails: number
  readonly failedMails: number
  readonly oldestMailAt: number | undefined
  readonly webhooks: WebhookRow
  readonly webhookStops: readonly WebhookStopRow[]
  readonly secretUses: readonly SecretUseRow[]
  /** The secrets of each running process, and of killed ones for some minutes. */
  readonly secretHolders: readonly SecretHolderRow[]
  /** The kinds of password hashes of other systems that accounts have. */
  readonly foreignKinds: readonly string[]
  /** The clock of the database server; undefined for SQLite, which has no server. */
  readonly serverTime: number | undefined
}

type SecretUseRow = { readonly fingerprint: string; readonly lastUsedAt: number }
type SecretHolderRow = {
  readonly processId: string
  readonly fingerprint: string
  readonly signs: boolean | 0 | 1
  readonly seenAt: number
}

type WebhookRow = {
  readonly pending: number
  readonly failed: number
  /** Pending after at least one failed attempt. */
  readonly retrying: number
  /** When the pending webhook that waits longest was due. */
  readonly dueAt: number | undefined
}
type WebhookStopRow = { readonly endpoint: string; readonly stoppedAt: number }

type StateRow = {
  readonly admins: number
  readonly able: number
  readonly mails: number
  readonly failed: number
  readonly oldest: number | null
}

type Server = {
  readonly version: string
  readonly read_only: string
  readonly encoding: string
  readonly may_create: boolean
  readonly now: number
}

const HISTORY_EXISTS = {
  sqlite: "select 1 from sqlite_schema where name = 'schema_migrations'",
  postgres: "select 1 from pg_class where oid = to_regclass('schema_migrations')",
}
const READ_STATE = `
  select (select count(*) from users where role = 'admin') as admins,
    (select count(*) from users where role = 'admin' and verified and not banned) as able,
    (select count(*) from outbox where failed_at is null) as mails,
    (select count(*) from outbox where failed_at is not null) as failed,
    (select min(requested_at) from outbox where failed_at is null) as oldest`
const READ_SECRET_USES = 'select fingerprint, last_used_at as "lastUsedAt" from secret_uses'
const READ_SECRET_HOLDERS = 'select process_id as "processId", fingerprint, signs, seen_at as "seenAt" from secret_holders'
const READ_WEBHOOKS = `
  select count(*) - count(failed_at) as pending, count(failed_at) as failed,
    count(case when failed_at is null and attempts > 0 then 1 end) as retrying,
    min(case when failed_at is null and lease is null and waits_for is null then due_at end) as "dueAt"
  from webhook_deliveries`
const READ_WEBHOOK_STOPS = 'select endpoint, stopped_at as "stoppedAt" from webhook_stops'
const LOCK_TIMEOUT_MS = 3000
const STATEMENT_TIMEOUT_MS = 5000

/** Returns undefined if there is no database yet; the first start creates it. */
export function inspectDatabase(target: DatabaseTarget): Promise<Inspection | undefined> {
  return target.kind === 'sqlite' ? inspectSqlite(target.file) : inspectPostgres(target.url)
}

async function inspectSqlite(file: string): Promise<Inspection | undefined> {
  if (!isUsable(file)) return undefined
  const connection = new DatabaseSync(file, { readOnly: true, timeout: LOCK_TIMEOUT_MS })
  try {
    const version = connection.prepare('select sqlite_version() as version').get()?.['version']
    const isMigrated = connection.prepare(HISTORY_EXISTS.sqlite).get() !== undefined
    const { pending, newer } = compareWithHistory('sqlite', isMigrated ? connection.prepare(READ_HISTORY).all() : [])
    const state = isMigrated ? connection.prepare(READ_STATE).get() : undefined
    const readIfCurrent = (sql: string) => (pending.length === 0 ? connection.prepare(sql).all() : [])
    return {
      product: `SQLite ${version}`,
      isReadOnly: false,
      obstacle: undefined,
      isOurs: isMigrated,
      pending,
      newer,
      differences: isMigrated ? compareSqliteSchema(connection, newer.length > 0) : [],
      ...stateOf(state),
      ...secretsOf(readIfCurrent(READ_SECRET_USES), readIfCurrent(READ_SECRET_HOLDERS)),
      ...webhooksOf(readIfCurrent(READ_WEBHOOKS), readIfCurrent(READ_WEBHOOK_STOPS)),
      ...auditOf(readIfCurrent(READ_AUDIT.sqlite)[0]),
      foreignKinds: kindsOf(readIfCurrent(READ_FOREIGN_KINDS)),
      serverTime: undefined,
    }
  } finally {
    connection.close()
  }
}

/** Returns false if there is no file yet but it can be created. Throws the error of the system if this user cannot use it. */
function isUsable(file: string): boolean {
  const { W_OK, R_OK, X_OK } = constants
  const found = statSync(file, { throwIfNoEntry: false })
  if (found !== undefined && !found.isFile()) throw Object.assign(new Error('not a file'), { code: 'EISDIR' })
  if (found !== undefined) accessSync(file, R_OK | W_OK)
  let folder = dirname(resolve(file))
  while (found === undefined && !existsSync(folder)) folder = dirname(folder)
  if (!statSync(folder).isDirectory()) throw Object.assign(new Error(`${folder} is a file`), { code: 'ENOTDIR' })
  accessSync(folder, W_OK | X_OK)
  return found !== undefined
}

function inspectPostgres(url: string): Promise<Inspection> {
  return withConnection(url, { statement_timeout: STATEMENT_TIMEOUT_MS }, async (client) => {
    const [server] = await client<Server[]>`
      select current_setting('server_version') as version, current_setting('transaction_read_only') as read_only,
        current_setting('server_encoding') as encoding, coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_create,
        (extract(epoch from clock_timestamp()) * 1000)::bigint as now`
    const isMigrated = (await client.unsafe(HISTORY_EXISTS.postgres)).length > 0
    const { pending, newer } = compareWithHistory('postgres', isMigrated ? await client.unsafe(READ_HISTORY) : [])
    const [state] = isMigrated ? await client.unsafe(READ_STATE) : []
    const readIfCurrent = async (sql: string) => (pending.length === 0 ? client.unsafe(sql) : [])
    return {
      product: `PostgreSQL ${server?.version.split(' ')[0]}`,
      isReadOnly: server?.read_only === 'on',
      obstacle: obstacleOf(server, pending),
      isOurs: isMigrated,
      pending,
      newer,
      differences: isMigrated && server?.read_only === 'off' ? await comparePostgresSchema(client) : [],
      ...stateOf(state),
      ...secretsOf(await readIfCurrent(READ_SECRET_USES), await readIfCurrent(READ_SECRET_HOLDERS)),
      ...webhooksOf(await readIfCurrent(READ_WEBHOOKS), await readIfCurrent(READ_WEBHOOK_STOPS)),
      ...auditOf((await readIfCurrent(READ_AUDIT.postgres))[0]),
      foreignKinds: kindsOf(await readIfCurrent(READ_FOREIGN_KINDS)),
      serverTime: server?.now,
    }
  })
}

function obstacleOf(server: Server | undefined, pending: readonly string[]): string | undefined {
  if (server !== undefined && server.encoding !== 'UTF8') return `its encoding is ${server.encoding}, not UTF8`
  return pending.length > 0 && server?.may_create === false ? 'its user may not create tables' : undefined
}

function secretsOf(uses: readonly unknown[], holders: readonly unknown[]) {
  // READ_SECRET_USES and READ_SECRET_HOLDERS name these columns.
  return { secretUses: uses as readonly SecretUseRow[], secretHolders: holders as readonly SecretHolderRow[] }
}

function kindsOf(rows: readonly unknown[]): readonly string[] {
  // READ_FOREIGN_KINDS names this column.
  return (rows as readonly { readonly kind: string }[]).map(({ kind }) => kind)
}

function webhooksOf([row]: readonly unknown[], stops: readonly unknown[]) {
  // READ_WEBHOOKS and READ_WEBHOOK_STOPS name these columns; there is no row before the migration.
  const { pending = 0, failed = 0, retrying = 0, dueAt } = (row ?? {}) as Partial<WebhookRow>
  return { webhooks: { pending, failed, retrying, dueAt: dueAt ?? undefined }, webhookStops: stops as readonly WebhookStopRow[] }
}

function stateOf(row: unknown) {
  // READ_STATE selects these columns; there is no row before the first migration.
  const { admins = 0, able = 0, mails = 0, failed = 0, oldest = null } = (row ?? {}) as Partial<StateRow>
  return { admins, ableAdmins: able, pendingMails: mails, failedMails: failed, oldestMailAt: oldest ?? undefined }
}

export type AuditInspection = {
  /** The end of the chain of the audit trail; undefined if nothing is sealed yet. */
  readonly auditHead: AuditMark | undefined
  /** The time of the first event that waits to be sealed. */
  readonly oldestUnsealedAt: number | undefined
}

type AuditRow = { readonly oldestUnsealedAt: number | null } & { readonly [Column in keyof AuditMark]: AuditMark[Column] | null }

export const READ_AUDIT = { sqlite: readAudit(OLDEST_UNSEALED.sqlite), postgres: readAudit(OLDEST_UNSEALED.postgres) }

function readAudit(oldestUnsealed: string): string {
  return `select (${oldestUnsealed}) as "oldestUnsealedAt",
    head.position, head.hash, head.marked_at as "markedAt", head.mac, head.mac_key as "macKey"
  from (select 1 as one) as always left join audit_marks as head on head.name = 'head'`
}

export function auditOf(row: unknown): AuditInspection {
  // READ_AUDIT names these columns. Those of the end are null together, and there is no row before the migration.
  const { oldestUnsealedAt, ...head } = (row ?? { oldestUnsealedAt: null, position: null }) as AuditRow
  return { auditHead: head.position === null ? undefined : (head as AuditMark), oldestUnsealedAt: oldestUnsealedAt ?? undefined }
}

const READ_INSTANCE = 'select id from instance'
const TIMEOUT_MS = 3000

/** Reads the id of a database without changing anything. Undefined if there is no database, or if its version is too old to have an id. */
export async function findInstanceId(target: DatabaseTarget): Promise<string | undefined> {
  try {
    return target.kind === 'sqlite' ? readSqlite(target.file) : await readPostgres(target.url)
  } catch {
    return undefined
  }
}

function readSqlite(file: string): string | undefined {
  if (!existsSync(file)) return undefined
  const connection = new DatabaseSync(file, { readOnly: true, timeout: TIMEOUT_MS })
  try {
    return idOf(connection.prepare(READ_INSTANCE).get())
  } finally {
    connection.close()
  }
}

function readPostgres(url: string): Promise<string | undefined> {
  return withConnection(url, { statement_timeout: TIMEOUT_MS }, async (client) => idOf((await client.unsafe(READ_INSTANCE))[0]))
}

function idOf(row: unknown): string | undefined {
  // READ_INSTANCE selects this column.
  return (row as { readonly id: string } | undefined)?.id
}
