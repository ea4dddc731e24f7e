import assert from 'node:assert/strict'
import { copyFileSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { migrate, openDatabase } from '../../../src/storage/open.ts'
import { ping } from '../../../src/storage/repositories/operations/operations.repository.ts'
import { type Actor, admin } from '../../support/app/actors.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { injectPatiently } from '../../support/http/patience.ts'
import { forgotPassword, register } from '../../support/http/requests.ts'

type Scene = TestApp & { readonly file: string; readonly boss: Actor }

async function setScene(t: TestContext): Promise<Scene> {
  const testApp = await startApp(t)
  const { database } = testApp.config
  const file = database.kind === 'sqlite' ? database.file : assert.fail()
  return { ...testApp, file, boss: await admin(testApp, { email: 'boss@example.com' }) }
}

/** Writes, /ready, a search and a read. */
function requestsOf({ headers }: Actor): InjectOptions[] {
  return [
    register(),
    forgotPassword('mia@example.com'),
    { method: 'GET', url: '/ready' },
    { method: 'GET', url: '/users/search?search_term=a', headers },
    { method: 'GET', url: '/users/me', headers },
  ]
}

async function statuses({ app, boss }: Scene): Promise<number[]> {
  const answers = await Promise.all(requestsOf(boss).map((request) => app.inject(request)))
  return answers.map(({ statusCode }) => statusCode)
}

/** The statuses of requests that are served. On a busy machine, a search may wait too long for its thread to start. */
async function servedStatuses({ app, boss }: Scene): Promise<number[]> {
  const answers = await Promise.all(requestsOf(boss).map((request) => injectPatiently(app, request)))
  return answers.map(({ statusCode }) => statusCode)
}

const SERVED = [201, 200, 200, 200, 200]
const REFUSED = [503, 503, 503, 503, 200]

/** The content that a process started now would find, and its integrity. Copying the files is like a kill: nothing is closed. */
function foundAfterKill(t: TestContext, file: string): { emails: unknown[]; integrity: unknown } {
  const copy = join(temporaryFolder(t), 'copy.db')
  for (const suffix of ['', '-wal']) if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix)
  const connection = new DatabaseSync(copy)
  const emails = connection.prepare('select email from users').all()
  const integrity = connection.prepare('pragma integrity_check').get()?.['integrity_check']
  connection.close()
  return { emails: emails.map(({ email }) => email), integrity }
}

for (const [what, take, putBack] of [
  ['file', (file: string) => renameSync(file, `${file}.away`), (file: string) => renameSync(`${file}.away`, file)],
  [
    'write-ahead log',
    (file: string) => renameSync(`${file}-wal`, `${file}.away`),
    (file: string) => renameSync(`${file}.away`, `${file}-wal`),
  ],
  [
    'folder',
    (file: string) => renameSync(dirname(file), `${dirname(file)}.away`),
    (file: string) => renameSync(`${dirname(file)}.away`, dirname(file)),
  ],
] as const) {
  test(`503: if the ${what} of the database is moved, no write is acknowledged until it is restored`, async (t) => {
    const scene = await setScene(t)
    assert.deepEqual(await servedStatuses(scene), SERVED)
    take(scene.file)
    assert.deepEqual(await statuses(scene), REFUSED)
    assert.match(scene.logged.join(''), /"reason":"SQLite: \S+ was moved, removed or replaced .* stop the service, restore a backup/)
    putBack(scene.file)
    assert.deepEqual(await statuses(scene), SERVED)
    assert.equal(foundAfterKill(t, scene.file).emails.length, 3)
  })
}

test('503: if the database is removed with its folder, a new empty folder does not help', async (t) => {
  const scene = await setScene(t)
  rmSync(dirname(scene.file), { recursive: true })
  assert.deepEqual(await statuses(scene), REFUSED)
  mkdirSync(dirname(scene.file))
  assert.deepEqual(await statuses(scene), REFUSED)
})

test('503: if the database is replaced by a copy, the write-ahead log of the old one does not damage the copy', async (t) => {
  const scene = await setScene(t)
  const backup = join(temporaryFolder(t), 'backup.db')
  const connection = new DatabaseSync(scene.file)
  connection.exec(`vacuum into '${backup}'`)
  connection.close()
  assert.deepEqual(await servedStatuses(scene), SERVED)
  renameSync(scene.file, `${scene.file}.old`)
  cpSync(backup, scene.file)
  assert.deepEqual(await statuses(scene), REFUSED)
  assert.deepEqual(foundAfterKill(t, scene.file), { emails: ['boss@example.com'], integrity: 'ok' })
  const old = foundAfterKill(t, `${scene.file}.old`)
  assert.deepEqual([old.emails.length, old.integrity], [2, 'ok'])
})

test('503: if the write-ahead log is removed, acknowledged writes survive a kill', async (t) => {
  const scene = await setScene(t)
  assert.deepEqual(await servedStatuses(scene), SERVED)
  rmSync(`${scene.file}-wal`)
  assert.deepEqual(await statuses(scene), REFUSED)
  const { emails, integrity } = foundAfterKill(t, scene.file)
  assert.deepEqual([emails.length, integrity], [2, 'ok'])
})

test('503: a damaged file is reported as damaged, never as 500', async (t) => {
  const { app, file, boss, logged } = await setScene(t)
  truncateSync(file, 8192)
  const { statusCode } = await app.inject({ url: '/users/search?search_term=a', headers: boss.headers })
  assert.equal(statusCode, 503)
  assert.match(
    logged.join(''),
    /"reason":"SQLite: the database is damaged \(Error: database disk image is malformed\); stop the service and restore/,
  )
})

test('a database behind a symbolic link is served, until its log is removed or the link is changed', async (t) => {
  const folder = temporaryFolder(t)
  const [link, file] = [join(folder, 'link.db'), join(folder, 'elsewhere.db')]
  await migrate({ kind: 'sqlite', file })
  symlinkSync(file, link)
  const db = await openDatabase({ kind: 'sqlite', file: link })
  t.after(() => db.close())
  await ping(db)
  renameSync(`${file}-wal`, `${file}.away`)
  await assert.rejects(ping(db), { code: 'unavailable' })
  renameSync(`${file}.away`, `${file}-wal`)
  await ping(db)
  rmSync(link)
  copyFileSync(file, `${file}.copy`)
  symlinkSync(`${file}.copy`, link)
  await assert.rejects(ping(db), { code: 'unavailable' })
})
