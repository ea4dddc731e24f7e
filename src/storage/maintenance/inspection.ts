import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AUDIT_MARK } from '../../model/audit.ts'
import type { WebhookStop } from '../../model/webhook.ts'
import type { Bit, DatabaseTarget, StoredRow } from '../database.ts'
import { HISTORY_EXISTS, planMigrations, READ_HISTORY } from '../migrations.ts'
import { type Client, withConnection } from '../postgres/connections.ts'
import { OLDEST_UNSEALED } from '../repositories/audit/event-seal.repository.ts'
import { READ_FOREIGN_KINDS } from '../repositories/import/import.repository.ts'
import { comparePostgresSchema, compareSqliteSchema, type SchemaDifference } from './schema.ts'

/** The state of a database, read without changing anything: not even a migration is applied. */
export type Inspection = Awaited<ReturnType<typeof inspectTables>> & {
  /** Such as `PostgreSQL 18.1`. */
  readonly product: string
  readonly isReadOnly: boolean
  /** Why the service cannot use the database, if so. */
  readonly obstacle: string | undefined
  /** How the schema differs from what its migrations create, as far as this version knows them; undefined if it cannot be compared. */
  readonly differences: readonly SchemaDifference[] | undefined
  /** The clock of the database server; undefined for SQLite, which has no server. */
  readonly serverTime: number | undefined
}

type SecretUse = { readonly fingerprint: string; readonly lastUsedAt: number }
type SecretHolder = { readonly processId: string; readonly fingerprint: string; readonly signs: Bit; readonly seenAt: number }
/** `users`: the ids of the first ones. */
type Named = { readonly count: number; readonly users: string }
type TotpSeal = Named & { readonly sealedWith: string }
/** `retrying`: pending after at least one failed attempt. `dueAt`: when the pending webhook that waits longest was due. */
type WebhookQueue = Readonly<Record<'pending' | 'failed' | 'retrying', number>> & { readonly dueAt: number | null }
/** `ableAdmins` can log in: they are verified and not banned. */
type Counts = Readonly<Record<'admins' | 'ableAdmins' | 'pendingMails' | 'failedMails', number>> & { readonly oldestMailAt: number | null }
type Server = Readonly<Record<'version' | 'read_only' | 'encoding', string>> & { readonly may_create: boolean; readonly now: number }
/** Runs a statement without parameters. Its rows have the columns that it names. */
type Read = <Row>(sql: string) => Promise<readonly Row[]>

const READ_COUNTS = `
  select (select count(*) from users where role = 'admin') as admins,
    (select count(*) from users where role = 'admin' and verified and not banned) as "ableAdmins",
    (select count(*) from outbox where failed_at is null) as "pendingMails",
    (select count(*) from outbox where failed_at is not null) as "failedMails",
    (select min(requested_at) from outbox where failed_at is null) as "oldestMailAt"`
const NO_COUNTS: Counts = { admins: 0, ableAdmins: 0, pendingMails: 0, failedMails: 0, oldestMailAt: null }
const READ_SECRET_USES = 'select fingerprint, last_used_at as "lastUsedAt" from secret_uses'
const READ_SECRET_HOLDERS = 'select process_id as "processId", fingerprint, signs, seen_at as "seenAt" from secret_holders'
const READ_WEBHOOKS = `
  select count(*) - count(failed_at) as pending, count(failed_at) as failed,
    count(case when failed_at is null and attempts > 0 then 1 end) as retrying,
    min(case when failed_at is null and lease is null and waits_for is null then due_at end) as "dueAt"
  from webhook_deliveries`
const READ_WEBHOOK_STOPS = 'select endpoint, stopped_at as "stoppedAt" from webhook_stops'
const NO_WEBHOOKS: WebhookQueue = { pending: 0, failed: 0, retrying: 0, dueAt: null }
const READ_HEAD = `select ${AUDIT_MARK.columns} from audit_marks where name = 'head'`
const namedIn = (from: string) => `(select string_agg(cast(id as text), ', ') from (select ${from} order by id limit 10) as named) as users`
const READ_TOTP_SEALS = `select sealed_with as "sealedWith", count(*) as count,
    ${namedIn('user_id as id from totp_secrets as sealed where sealed.sealed_with = totp_secrets.sealed_with')}
  from totp_secrets group by sealed_with`
const PASSWORD_ONLY = `from users where role = 'admin' and not banned and not totp and passkeys = 0`
const READ_PASSWORD_ONLY = `select count(*) as count, ${namedIn(`id ${PASSWORD_ONLY}`)} ${PASSWORD_ONLY}`
const READ_PASSKEYS = 'select count(*) as count from passkeys'
const READ_PROVIDERS = 'select provider, issuer, count(*) as count from identities group by provider, issuer order by provider, issuer'
const READ_INSTANCE = 'select id from instance'
const TIMEOUT_MS = 3000
const STATEMENT_TIMEOUT_MS = 5000

/** Returns undefined if there is no database yet; the first start creates it. */
export function inspectDatabase(target: DatabaseTarget): Promise<Inspection | undefined> {
  return target.kind === 'sqlite' ? inspectSqlite(target.file) : inspectPostgres(target.url)
}

/** What both databases tell in the same way. Most tables exist only once every migration is applied. */
async function inspectTables(kind: DatabaseTarget['kind'], read: Read) {
  const isOurs = (await read(HISTORY_EXISTS[kind])).length > 0
  const { pending, newer } = planMigrations(kind, isOurs ? await read(READ_HISTORY) : [])
  const [counts = NO_COUNTS] = isOurs ? await read<Counts>(READ_COUNTS) : []
  const readIfCurrent: Read = async (sql) => (pending.length === 0 ? read(sql) : [])
  const [webhooks = NO_WEBHOOKS] = await readIfCurrent<WebhookQueue>(READ_WEBHOOKS)
  const [head] = await readIfCurrent<StoredRow>(READ_HEAD)
  const [unsealed] = await readIfCurrent<{ readonly at: number }>(OLDEST_UNSEALED[kind])
  return {
    /** Whether the database belongs to this service. */
    isOurs,
    /** The names of the migrations that the next start will apply. */
    pending: pending.map(({ name }) => name),
    /** The names of the migrations of a newer version, if this version can work with them. */
    newer,
    ...counts,
    oldestMailAt: counts.oldestMailAt ?? undefined,
    webhooks: { ...webhooks, dueAt: webhooks.dueAt ?? undefined },
    webhookStops: await readIfCurrent<WebhookStop>(READ_WEBHOOK_STOPS),
    secretUses: await readIfCurrent<SecretUse>(READ_SECRET_USES),
    /** The secrets of each running process, and of killed ones for some minutes. */
    secretHolders: await readIfCurrent<SecretHolder>(READ_SECRET_HOLDERS),
    /** The end of the chain of the audit trail; undefined if nothing is sealed yet. */
    auditHead: head && AUDIT_MARK.fromRow(head),
    /** The time of the first event that waits to be sealed. */
    oldestUnsealedAt: unsealed?.at,
    /** How many secrets of apps each SECRET_KEY encrypts. */
    totpSeals: await readIfCurrent<TotpSeal>(READ_TOTP_SEALS),
    passwordOnlyAdmins: (await readIfCurrent<Named>(READ_PASSWORD_ONLY))[0] ?? { count: 0, users: '' },
    passkeys: (await readIfCurrent<{ readonly count: number }>(READ_PASSKEYS))[0]?.count ?? 0,
    /** How many accounts each provider opens. */
    providers: await readIfCurrent<{ readonly provider: string; readonly issuer: string; readonly count: number }>(READ_PROVIDERS),
    /** The kinds of password hashes of other systems that accounts have. */
    foreignKinds: (await readIfCurrent<{ readonly kind: string }>(READ_FOREIGN_KINDS)).map(({ kind }) => kind),
  }
}

async function inspectSqlite(file: string): Promise<Inspection | undefined> {
  if (!isUsable(file)) return undefined
  using connection = new DatabaseSync(file, { readOnly: true, timeout: TIMEOUT_MS })
  const read = readingSqlite(connection)
  const [product] = await read<{ readonly version: string }>('select sqlite_version() as version')
  const tables = await inspectTables('sqlite', read)
  return {
    ...tables,
    product: `SQLite ${product?.version}`,
    isReadOnly: false,
    obstacle: undefined,
    differences: tables.isOurs ? compareSqliteSchema(connection, { isNewer: tables.newer.length > 0 }) : [],
    serverTime: undefined,
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
    const tables = await inspectTables('postgres', readingPostgres(client))
    return {
      ...tables,
      product: `PostgreSQL ${server?.version.split(' ')[0]}`,
      isReadOnly: server?.read_only === 'on',
      obstacle: obstacleOf(server, tables.pending),
      differences: tables.isOurs && server?.read_only === 'off' ? await comparePostgresSchema(client) : [],
      serverTime: server?.now,
    }
  })
}

function obstacleOf(server: Server | undefined, pending: readonly string[]): string | undefined {
  if (server !== undefined && server.encoding !== 'UTF8') return `its encoding is ${server.encoding}, not UTF8`
  return pending.length > 0 && server?.may_create === false ? 'its user may not create tables' : undefined
}

/** Reads the id of a database without changing anything. Undefined if there is no database, or if its version is too old to have an id. */
export async function findInstanceId(target: DatabaseTarget): Promise<string | undefined> {
  try {
    if (target.kind === 'postgres')
      return await withConnection(target.url, { statement_timeout: TIMEOUT_MS }, (client) => readInstanceId(readingPostgres(client)))
    using connection = new DatabaseSync(target.file, { readOnly: true, timeout: TIMEOUT_MS })
    return await readInstanceId(readingSqlite(connection))
  } catch {
    return undefined
  }
}

async function readInstanceId(read: Read): Promise<string | undefined> {
  return (await read<{ readonly id: string }>(READ_INSTANCE))[0]?.id
}

function readingSqlite(connection: DatabaseSync): Read {
  return async <Row>(sql: string) => connection.prepare(sql).all() as Row[]
}

function readingPostgres(client: Client): Read {
  return async <Row>(sql: string) => [...(await client.unsafe(sql))] as Row[]
}
