import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as nodeTest, type TestContext } from 'node:test'
import postgres from 'postgres'
import type { DatabaseTarget } from '../../src/config.ts'

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

/** A fresh, migrated-on-demand database that ends with the test. */
export async function freshDatabase(t: TestContext, kind: DatabaseKind): Promise<DatabaseTarget> {
  if (kind === 'sqlite') return { kind, file: join(temporaryFolder(t), 'latchkey.db') }
  return { kind, url: await freshPostgres(t, 'latchkey_template') }
}

/** A PostgreSQL database without a table. */
export function emptyPostgres(t: TestContext): Promise<string> {
  return freshPostgres(t, 'template0')
}

export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function freshPostgres(t: TestContext, template: string): Promise<string> {
  const serverUrl = process.env['TEST_POSTGRES_URL']
  if (!serverUrl)
    throw new Error('no PostgreSQL is running: start the tests with `npm test`, or one file with `npm run test:file -- test/…`')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer(serverUrl, `create database ${name} template ${template}`)
  t.after(() => administer(serverUrl, `drop database ${name} with (force)`))
  return serverUrl.replace(/\/postgres$/, `/${name}`)
}

async function administer(url: string, command: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  await sql.unsafe(command).simple()
  await sql.end()
}
