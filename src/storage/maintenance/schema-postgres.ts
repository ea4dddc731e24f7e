import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { type AppliedMigration, CREATE_HISTORY, MIGRATIONS_FOLDER, READ_HISTORY, readMigrations } from '../migrations.ts'
import type { Client, Tx } from '../postgres/connections.ts'
import { compareSchemas, type SchemaDifference, type SchemaObject } from './schema-comparison.ts'

const INSUFFICIENT_PRIVILEGE = '42501'

/** The tables named in $2 of the schema named in $1, and everything that belongs to them or runs because of them. */
const READ_OBJECTS = `
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
  let differences: SchemaDifference[] | undefined
  try {
    await client.begin(async (tx) => {
      const [{ schema = '' } = {}] = await tx.unsafe<{ schema: string }[]>('select current_schema() as schema')
      const applied = await tx.unsafe<AppliedMigration[]>(READ_HISTORY)
      const expected = (await createExpected(tx, scratch, applied)).map((object) => unqualified(object, [scratch, schema]))
      const tables = expected.filter(({ name }) => name.startsWith('table ')).map(({ name }) => name.slice('table '.length))
      const found = await objectsOf(tx, schema, tables)
      differences = compareSchemas(
        expected,
        found.map((object) => unqualified(object, [schema])),
      )
      throw new RolledBack()
    })
  } catch (error) {
    if (error instanceof postgres.PostgresError && error.code === INSUFFICIENT_PRIVILEGE) return undefined
    if (!(error instanceof RolledBack)) throw error
  }
  return differences
}

class RolledBack extends Error {}

async function createExpected(tx: Tx, scratch: string, applied: readonly AppliedMigration[]): Promise<SchemaObject[]> {
  const names = new Set(applied.map(({ name }) => name))
  await tx.unsafe(`create schema ${scratch}`)
  // The old search path follows the new schema, because it contains the operator classes of pg_trgm.
  await tx.unsafe(`select set_config('search_path', $1 || ', ' || current_setting('search_path'), true)`, [scratch])
  await tx.unsafe(CREATE_HISTORY)
  for (const { name, sql } of readMigrations(`${MIGRATIONS_FOLDER}/postgres`)) if (names.has(name)) await tx.unsafe(sql).simple()
  const tables = await tx.unsafe<{ name: string }[]>(
    `select relname::text as name from pg_class where relnamespace = $1::text::regnamespace and relkind = 'r'`,
    [scratch],
  )
  return objectsOf(
    tx,
    scratch,
    tables.map(({ name }) => name),
  )
}

async function objectsOf(tx: Tx, schema: string, tables: readonly string[]): Promise<SchemaObject[]> {
  // With an empty path PostgreSQL prints every name with its schema, which unqualified() removes.
  await tx.unsafe('savepoint reading')
  await tx.unsafe(`set local search_path = ''`)
  const rows = await tx.unsafe<SchemaObject[]>(READ_OBJECTS, [schema, tables.join(',')])
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
