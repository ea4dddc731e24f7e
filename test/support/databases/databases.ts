import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test as nodeTest, type TestContext } from 'node:test'
import postgres from 'postgres'
import type { DatabaseTarget } from '../../../src/storage/database.ts'
import { migrate } from '../../../src/storage/open.ts'
import { newFolder } from './run-folder.ts'

export type DatabaseKind = DatabaseTarget['kind']

const DATABASE_KINDS: readonly DatabaseKind[] = ['sqlite', 'postgres']

/** The context of a test that runs once on each database. */
export type ContractContext = TestContext & { readonly database: DatabaseKind }

/** Declares one test that runs on SQLite and on PostgreSQL. */
export function test(title: string, body: (t: ContractContext) => Promise<void>): void {
  for (const database of DATABASE_KINDS) {
    nodeTest(`${title} [${database}]`, (t) => body(Object.assign(t, { database })))
  }
}

/** `setting` is its DATABASE_URL. */
export type FreshDatabase = DatabaseTarget & { readonly setting: string }

/** A fresh database, removed when the test ends. */
export async function freshDatabase(t: TestContext, kind: DatabaseKind): Promise<FreshDatabase> {
  if (kind === 'postgres') return postgresAt(await borrowPostgres(t))
  const file = join(temporaryFolder(t), 'latchkey.db')
  return { kind, file, setting: `sqlite:${file}` }
}

export function postgresAt(url: string): FreshDatabase {
  return { kind: 'postgres', url, setting: url }
}

/** A PostgreSQL database without tables. */
export async function emptyPostgres(t: TestContext, encoding = 'UTF8'): Promise<string> {
  const url = await createPostgres(`template0 encoding '${encoding}' locale 'C'`)
  t.after(() => administer(serverUrl(), `drop database ${new URL(url).pathname.slice(1)} with (force)`))
  return url
}

let migratedFile: string | undefined

/** Migrates a fresh database. Those of PostgreSQL are copies of a migrated one, and those of SQLite of the first one of this process. */
export async function migrateFresh(target: DatabaseTarget): Promise<void> {
  if (target.kind === 'postgres' || existsSync(target.file)) return
  if (migratedFile === undefined) {
    await migrate(target)
    const copy = join(newFolder('template'), 'latchkey.db')
    copyFileSync(target.file, copy)
    migratedFile = copy
  } else copyFileSync(migratedFile, target.file)
}

export function temporaryFolder(t: TestContext): string {
  const folder = newFolder('test')
  // A process that the test has started may still write to it.
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** A database, and a connection of its own to empty it. */
type Lent = { readonly url: string; readonly sql: postgres.Sql }

// Emptying a database is ten times as fast as creating one. Each is used by one test at a time and emptied before the next. Few rows are
// deleted eight times as fast as their tables are truncated. The role of a replica checks no references.
const idleDatabases: Lent[] = []
const EMPTY_ALL_TABLES = `
  set session_replication_role = replica;
  do $$ declare
    names text[] := (select array_agg(format('%I', tablename)) from pg_tables
                     where schemaname = 'public' and tablename not in ('schema_migrations', 'instance'));
    name text;
  begin
    if (select max(pg_relation_size(listed::regclass)) from unnest(names) listed) > 200000 then
      execute 'truncate ' || array_to_string(names, ', ') || ' restart identity';
      return;
    end if;
    foreach name in array names loop execute 'delete from ' || name; end loop;
    perform setval(seqrelid::regclass, seqstart, false) from pg_sequence;
  end $$`

async function borrowPostgres(t: TestContext): Promise<string> {
  const idle = idleDatabases.pop()
  if (idle !== undefined) await idle.sql.unsafe(EMPTY_ALL_TABLES).simple()
  const lent = idle ?? connectedTo(await createPostgres('latchkey_template'))
  t.after(() => {
    idleDatabases.push(lent)
  })
  return lent.url
}

function connectedTo(url: string): Lent {
  return { url, sql: postgres(url, { max: 1, onnotice: () => undefined }) }
}

after(() => Promise.all(idleDatabases.map(({ sql }) => sql.end())))

async function createPostgres(template: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer(serverUrl(), `create database ${name} template ${template}`)
  return serverUrl().replace(/\/postgres$/, `/${name}`)
}

function serverUrl(): string {
  const url = process.env['TEST_POSTGRES_URL']
  if (!url) throw new Error('no PostgreSQL is running: start the tests with `npm test`, or one file with `npm run test:file -- test/…`')
  return url
}

async function administer(url: string, command: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  await sql.unsafe(command).simple()
  await sql.end()
}
