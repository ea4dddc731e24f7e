import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test as nodeTest, type TestContext } from 'node:test'
import postgres from 'postgres'
import type { DatabaseTarget } from '../../../src/storage/database-target.ts'
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

/** A fresh database, removed when the test ends. */
export async function freshDatabase(t: TestContext, kind: DatabaseKind): Promise<DatabaseTarget> {
  if (kind === 'sqlite') return { kind, file: join(temporaryFolder(t), 'latchkey.db') }
  return { kind, url: await borrowPostgres(t) }
}

/** A PostgreSQL database without tables. */
export async function emptyPostgres(t: TestContext, encoding = 'UTF8'): Promise<string> {
  const url = await createPostgres(`template0 encoding '${encoding}' locale 'C'`)
  t.after(() => administer(serverUrl(), `drop database ${new URL(url).pathname.slice(1)} with (force)`))
  return url
}

export function temporaryFolder(t: TestContext): string {
  const folder = newFolder('test')
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

// Emptying a database is ten times as fast as creating one. Each is used by one test at a time and emptied before the next.
const idleDatabases: string[] = []
const EMPTY_ALL_TABLES = `
  do $$ begin
    execute (select 'truncate ' || string_agg(format('%I', tablename), ', ') || ' restart identity'
             from pg_tables where schemaname = 'public' and tablename not in ('schema_migrations', 'instance'));
  end $$`

async function borrowPostgres(t: TestContext): Promise<string> {
  const idle = idleDatabases.pop()
  if (idle !== undefined) await administer(idle, EMPTY_ALL_TABLES)
  const url = idle ?? (await createPostgres('latchkey_template'))
  t.after(() => {
    idleDatabases.push(url)
  })
  return url
}

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
