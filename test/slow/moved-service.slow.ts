import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import postgres from 'postgres'
import { until } from '../support/app/eventually.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { emptyPostgres, temporaryFolder } from '../support/databases/databases.ts'
import { signIn, WITH_MEMBER } from '../support/load/outage.ts'
import { ask } from '../support/load/traffic.ts'
import { runLatchkey } from '../support/processes/command-line.ts'
import { type ServiceProcess, startProcess } from '../support/processes/service-process.ts'

const OLD_SECRET = 'the secret key of the service before its rotation'

type Issued = {
  readonly session: Readonly<Record<string, string>>
  readonly former: string
  readonly current: string
  readonly keyId: string
  readonly token: string
  readonly waitingKid: string
}

const SETTINGS = { ...WITH_MEMBER, BASE_URL: 'http://localhost:8000', LOG_LEVEL: 'warn' }

async function answered<Body>(url: string, path: string, headers: Readonly<Record<string, string>>, body: object): Promise<Body> {
  const answer = await ask(url, 'POST', path, body, headers)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body as Body
}

async function stop({ process: child }: ServiceProcess): Promise<void> {
  child.kill('SIGTERM')
  await once(child, 'close')
}

/** Uses a service whose SECRET_KEY was rotated: a rotated API key, a token for other services, and a rotated signing key. */
async function used(t: TestContext, folder: string): Promise<{ readonly service: ServiceProcess; readonly issued: Issued }> {
  const before = await startProcess(t, { ...SETTINGS, SECRET_KEY: OLD_SECRET }, folder)
  const session = await signIn(before.url)
  await stop(before)
  const service = await startProcess(t, { ...SETTINGS, SECRET_KEY_FALLBACKS: OLD_SECRET }, folder)
  const { id: keyId, key: former } = await answered<{ id: string; key: string }>(service.url, '/users/keys', session, { name: 'one' })
  const rotation = { overlap_seconds: 3600 }
  const { key: current } = await answered<{ key: string }>(service.url, `/users/keys/${keyId}/rotate`, session, rotation)
  const { token } = await answered<{ token: string }>(service.url, '/auth/token', session, { audience: 'reports', lifetime_seconds: 900 })
  const env = { SECRET_KEY: TEST_SECRET, SECRET_KEY_FALLBACKS: OLD_SECRET }
  const rotated = await runLatchkey(['signing-key', 'rotate', '--json'], { cwd: folder, env })
  assert.equal(rotated.code, 0, rotated.stderr)
  return { service, issued: { session, former, current, keyId, token, waitingKid: JSON.parse(rotated.stdout).id } }
}

/** Asserts that everything works that another service, on another database, has issued. */
async function assertWorks({ url }: ServiceProcess, { session, former, current, keyId, token, waitingKid }: Issued): Promise<void> {
  assert.equal((await ask(url, 'GET', '/auth/check', undefined, { ...session })).status, 200)
  for (const key of [former, current]) {
    const { status, body } = await ask(url, 'GET', '/auth/check', undefined, { 'x-api-key': key })
    assert.deepEqual([status, (body as { key_id: string }).key_id], [200, keyId])
  }
  const keySet = createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`), { timeoutDuration: 60_000 })
  const expected = { audience: 'reports', issuer: SETTINGS.BASE_URL, typ: 'at+jwt', algorithms: ['ES256'] }
  await jwtVerify(token, keySet, expected)
  const { token: next } = await answered<{ token: string }>(url, '/auth/token', session, { audience: 'reports' })
  await jwtVerify(next, keySet, expected)
  assert.equal(decodeProtectedHeader(next).kid, decodeProtectedHeader(token).kid, 'the same key signs')
  const { body } = await ask(url, 'GET', '/.well-known/jwks.json')
  assert.deepEqual(
    (body as { keys: { kid: string }[] }).keys.map(({ kid }) => kid),
    [decodeProtectedHeader(token).kid, waitingKid],
  )
}

function usesIn(file: string): object[] {
  const connection = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  const rows = connection.prepare('select fingerprint, first_used_at from secret_uses order by fingerprint').all()
  connection.close()
  return rows.map((row) => ({ ...row }))
}

test('what a service has issued works after backup and restore, with its fallbacks, former secrets and signing keys', async (t) => {
  const [folder, elsewhere] = [temporaryFolder(t), temporaryFolder(t)]
  const { service, issued } = await used(t, folder)
  await until('the use of both secrets is recorded', () => usesIn(join(folder, 'data', 'latchkey.db')).length === 2)
  const copy = join(folder, 'copy.db')
  const backedUp = await runLatchkey(['backup', copy], { cwd: folder, env: SETTINGS })
  assert.equal(backedUp.code, 0, backedUp.stderr)
  await stop(service)
  mkdirSync(join(elsewhere, 'data'))
  copyFileSync(copy, join(elsewhere, 'copy.db'))
  const restored = await runLatchkey(['restore', 'copy.db'], { cwd: elsewhere, env: SETTINGS })
  assert.equal(restored.code, 0, restored.stderr)
  assert.equal(usesIn(copy).length, 2)
  assert.deepEqual(usesIn(join(elsewhere, 'data', 'latchkey.db')), usesIn(copy))
  await assertWorks(await startProcess(t, { ...SETTINGS, SECRET_KEY_FALLBACKS: OLD_SECRET }, elsewhere), issued)
})

test('what a service has issued works after migrate-data to a database on which a service was started', async (t) => {
  const folder = temporaryFolder(t)
  const { service, issued } = await used(t, folder)
  await stop(service)
  const url = await emptyPostgres(t)
  const early = await startProcess(t, { DATABASE_URL: url, LOG_LEVEL: 'warn' })
  await until('the first signing key', async () =>
    JSON.stringify((await ask(early.url, 'GET', '/.well-known/jwks.json')).body).includes('kid'),
  )
  await stop(early)
  const moved = await runLatchkey(['migrate-data', '--from', 'sqlite:data/latchkey.db', '--to', url], { cwd: folder })
  assert.equal(moved.code, 0, moved.stderr)
  const sql = postgres(url, { max: 1 })
  assert.equal((await sql`select fingerprint from secret_uses`).length, 2)
  await sql.end()
  await assertWorks(await startProcess(t, { ...SETTINGS, DATABASE_URL: url, SECRET_KEY_FALLBACKS: OLD_SECRET }), issued)
})
