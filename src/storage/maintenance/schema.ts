import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { codeOf } from '../../shared/errors.ts'
import type { Bit } from '../database.ts'
import { type AppliedMigration, CREATE_HISTORY, MIGRATIONS_FOLDER, READ_HISTORY, readMigrations } from '../migrations.ts'
import type { Client, Tx } from '../postgres/connections.ts'

/** An object of a database schema, such as `trigger promote`, and its definition as the database prints it. */
type SchemaObject = {
  readonly name: string
  readonly definition: string
  /** An index of plain columns, which neither refuses nor computes anything. */
  readonly isPlainIndex: Bit
}

/** How a schema differs from the one that the migrations create, in one line. */
export type SchemaDifference = {
  readonly message: string
  /** An additional plain index, which changes no data, refuses none and grants nothing. */
  readonly isHarmless: boolean
  /** It concerns a trigger, a rule, a policy or a function, which the database runs by itself. */
  readonly isCode: boolean
}

const CODE = /^(?:trigger|rule|policy|function) /

function compareSchemas(expected: readonly SchemaObject[], found: readonly SchemaObject[]): SchemaDifference[] {
  const expectedByName = new Map(expected.map(({ name, definition }) => [name, definition]))
  const foundNames = new Set(found.map(({ name }) => name))
  const differences: SchemaDifference[] = []
  const add = (name: string, problem: string, { isHarmless } = { isHarmless: false }) =>
    differences.push({ message: `${name} ${problem}`, isHarmless, isCode: CODE.test(name) })
  for (const { name, definition, isPlainIndex } of found) {
    const wanted = expectedByName.get(name)
    if (wanted === undefined) add(name, 'is not part of Latchkey', { isHarmless: Boolean(isPlainIndex) })
    else if (wanted !== definition) add(name, 'was changed')
  }
  for (const name of expectedByName.keys()) {
    if (!foundNames.has(name)) add(name, 'is missing')
  }
  return differences
}

// SQLite creates these tables itself, for its statistics. No other program can create tables with these names.
const READ_SQLITE_OBJECTS = `
  select type || ' ' || name as name, lower(tbl_name) as "tableName", tbl_name || ': ' || coalesce(sql, '') as definition,
    exists (
      select 1 from pragma_index_list(tbl_name) as listed where listed.name = sqlite_schema.name and not listed."unique" and not listed.partial
    ) and not exists (select 1 from pragma_index_info(sqlite_schema.name) as indexed where indexed.name is null) as isPlainIndex
  from sqlite_schema
  where not (type = 'table' and name in ('sqlite_stat1', 'sqlite_stat4'))`

type SqliteObject = SchemaObject & {
  /** In lower case: a trigger has the name of its table as its author wrote it. */
  readonly tableName: string
}

/** Compares a database with what its migrations create. In a newer schema, only the tables that this version knows can be compared. */
export function compareSqliteSchema(connection: DatabaseSync, { isNewer = false } = {}): SchemaDifference[] {
  // The statement selects these columns.
  const applied = connection.prepare(READ_HISTORY).all() as AppliedMigration[]
  const expected = expectedSqliteObjects(applied)
  const known = new Set(expected.map(({ tableName }) => tableName))
  const found = sqliteObjectsOf(connection).filter(({ tableName }) => !isNewer || known.has(tableName))
  return compareSchemas(expected, found)
}

function expectedSqliteObjects(applied: readonly AppliedMigration[]): SqliteObject[] {
  const names = new Set(applied.map(({ name }) => name))
  using fresh = new DatabaseSync(':memory:')
  fresh.exec(CREATE_HISTORY)
  for (const { name, sql } of readMigrations(`${MIGRATIONS_FOLDER}/sqlite`)) if (names.has(name)) fresh.exec(sql)
  return sqliteObjectsOf(fresh)
}

function sqliteObjectsOf(connection: DatabaseSync): SqliteObject[] {
  return connection.prepare(READ_SQLITE_OBJECTS).all() as SqliteObject[]
}

const INSUFFICIENT_PRIVILEGE = '42501'

/** The tables named in $2 of the schema named in $1, and everything that belongs to them or runs because of them. */
const READ_POSTGRES_OBJECTS = `
  with tables as (
    select oid, relname::text as name, relrowsecurity from pg_class
    where relnamespace = $1::text::regnamespace and relkind = 'r' and relname::text = any (string_to_array($2, ','))
  )
  select 'table ' || name as name,
    concat_ws(' ', relrowsecurity, (select string_agg(inhrelid::regclass::text, ' ') from pg_inherits where inhparent = tables.oid)) as definition,
    false as "isPlainIndex"
  from tables
  union all
  select format('column %s of %s', attname, tables.name),
    concat_ws(' ', format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, pg_get_expr(adbin, adrelid)), false
  from tables join pg_attribute on attrelid = tables.oid left join pg_attrdef on adrelid = attrelid and adnum = attnum
  where attnum > 0 and not attisdropped
  union all
  select 'index ' || relname, pg_get_indexdef(indexrelid),
    not indisunique and not indisexclusion and indexprs is null and indpred is null
  from tables join pg_index on indrelid = tables.oid join pg_class on pg_class.oid = indexrelid
  union all
  select format('constraint %s of %s', conname, tables.name), pg_get_constraintdef(pg_constraint.oid), false
  from tables join pg_constraint on conrelid = tables.oid
  union all
  select format('trigger %s of %s', tgname, tables.name), concat_ws(' ', tgenabled, pg_get_triggerdef(pg_trigger.oid)), false
  from tables join pg_trigger on tgrelid = tables.oid where not tgisinternal
  union all
  select format('rule %s of %s', rulename, tables.name), concat_ws(' ', ev_enabled, pg_get_ruledef(pg_rewrite.oid)), false
  from tables join pg_rewrite on ev_class = tables.oid
  union all
  select format('policy %s of %s', polname, tables.name), concat_ws(' ', polcmd, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)), false
  from tables join pg_policy on polrelid = tables.oid
  union all
  select distinct 'function ' || pg_proc.oid::regprocedure::text, pg_get_functiondef(pg_proc.oid), false
  from tables join pg_trigger on tgrelid = tables.oid join pg_proc on pg_proc.oid = tgfoid where not tgisinternal`

/**
 * Compares the schema with what the applied migrations create. The migrations run in a temporary schema, in a transaction that is
 * rolled back. Returns undefined if the database user may not create a schema.
 */
export async function comparePostgresSchema(client: Client): Promise<SchemaDifference[] | undefined> {
  const scratch = `latchkey_${randomBytes(8).toString('hex')}`
  try {
    return await rollingBack(client, async (tx) => {
      const [{ schema = '' } = {}] = await tx.unsafe<{ schema: string }[]>('select current_schema() as schema')
      const applied = await tx.unsafe<AppliedMigration[]>(READ_HISTORY)
      const expected = (await createExpectedObjects(tx, scratch, applied)).map((object) => unqualified(object, [scratch, schema]))
      const tables = expected.filter(({ name }) => name.startsWith('table ')).map(({ name }) => name.slice('table '.length))
      const found = (await postgresObjectsOf(tx, schema, tables)).map((object) => unqualified(object, [schema]))
      return compareSchemas(expected, found)
    })
  } catch (error) {
    if (codeOf(error) === INSUFFICIENT_PRIVILEGE) return undefined
    throw error
  }
}

/** Runs the work in a transaction that is rolled back afterwards. */
export async function rollingBack<Result>(client: Client, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  const rollback = new Error('the work is done')
  const results: Result[] = []
  const ended: Promise<unknown> = client.begin(async (tx) => {
    results.push(await work(tx))
    throw rollback
  })
  await ended.catch((error) => {
    if (error !== rollback) throw error
  })
  // The work has returned, because its error would have been thrown.
  return results[0] as Result
}

async function createExpectedObjects(tx: Tx, scratch: string, applied: readonly AppliedMigration[]): Promise<SchemaObject[]> {
  const appliedNames = new Set(applied.map(({ name }) => name))
  await tx.unsafe(`create schema ${scratch}`)
  // The old search path follows the new schema, because it contains the operator classes of pg_trgm.
  await tx.unsafe(`select set_config('search_path', $1 || ', ' || current_setting('search_path'), true)`, [scratch])
  await tx.unsafe(CREATE_HISTORY)
  for (const { name, sql } of readMigrations(`${MIGRATIONS_FOLDER}/postgres`)) if (appliedNames.has(name)) await tx.unsafe(sql).simple()
  const tables = await tx.unsafe<{ name: string }[]>(
    `select relname::text as name from pg_class where relnamespace = $1::text::regnamespace and relkind = 'r'`,
    [scratch],
  )
  const names = tables.map(({ name }) => name)
  return postgresObjectsOf(tx, scratch, names)
}

async function postgresObjectsOf(tx: Tx, schema: string, tables: readonly string[]): Promise<SchemaObject[]> {
  // With an empty path PostgreSQL prints every name with its schema, which unqualified() removes.
  await tx.unsafe('savepoint reading')
  await tx.unsafe(`set local search_path = ''`)
  const rows = await tx.unsafe<SchemaObject[]>(READ_POSTGRES_OBJECTS, [schema, tables.join(',')])
  await tx.unsafe('rollback to reading')
  return [...rows]
}

/**
 * Removes schema names, so that two schemas can be compared: pg_trgm may be in either. Also removes the search path of a function,
 * which contains the schema that it was created in.
 */
function unqualified({ name, definition, isPlainIndex }: SchemaObject, schemas: readonly string[]): SchemaObject {
  const strip = (text: string) => schemas.reduce((rest, schema) => rest.replaceAll(`"${schema}".`, '').replaceAll(`${schema}.`, ''), text)
  return { name: strip(name), definition: strip(definition.replace(/^ SET search_path TO .*$/m, '')), isPlainIndex }
}
