import assert from 'node:assert/strict'
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, readdirSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Readable, Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { newFolder } from '../support/databases/run-folder.ts'
import { newEmail } from '../support/http/requests.ts'
import {
  READS,
  READS_WITH_LIMITS,
  runOutage,
  type ServiceUnderTest,
  signIn,
  untilServing,
  WITH_MEMBER,
  withEverything,
} from '../support/load/outage.ts'
import { assertRecorded, assertReported, assertSealed } from '../support/load/reported-events.ts'
import { ask, registration } from '../support/load/traffic.ts'
import { startMain } from '../support/processes/main-process.ts'
import { MAIN, runNode } from '../support/processes/processes.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { startSmtpPeer } from '../support/servers/smtp-peer.ts'
import type { Receiver } from '../support/servers/webhook-receiver.ts'

const LOCK_PROCESS = fileURLToPath(new URL('../support/processes/lock-process.ts', import.meta.url))
const DELIVERY_MS = 120_000
const NOBODY = { uid: 65_534, gid: 65_534 }
// /ready does not detect a full disk; the first write that needs space does.
const NO_ROOM = { mustPass: READS, mayPass: ['GET /ready'] }

type Scene = ServiceUnderTest & { readonly folder: string; readonly file: string }

async function setScene(t: TestContext, folder = temporaryFolder(t), env: Readonly<Record<string, string>> = WITH_MEMBER): Promise<Scene> {
  const peer = await startSmtpPeer(t)
  const service = await startProcess(t, { SMTP_URL: peer.url, LOG_LEVEL: 'warn', ...env }, folder)
  return { service, folder, member: await signIn(service.url), ...openFileDirectly(folder) }
}

function openFileDirectly(folder: string): { file: string; emails(): Promise<string[]> } {
  const file = join(folder, 'data', 'latchkey.db')
  return { file, emails: async () => readColumn(file, 'select email as value from users') }
}

/** Reads from the file beside the service. */
function readColumn(file: string, sql: string): string[] {
  return readRows(file, sql).map((row) => String(row['value']))
}

function readRows(file: string, sql: string): Record<string, unknown>[] {
  const connection = new DatabaseSync(file, { timeout: 5000 })
  const rows = connection.prepare(sql).all()
  connection.close()
  return rows
}

function assertIntact({ file }: { file: string }): void {
  assert.deepEqual(readColumn(file, 'select integrity_check as value from pragma_integrity_check'), ['ok'])
}

/** Asserts that every change has its event, that the trail verifies, and that every webhook arrives. */
async function assertEvidence(t: TestContext, { folder, file }: Scene, receiver: Receiver): Promise<void> {
  const rows = async (sql: string) => readRows(file, sql)
  await assertRecorded(rows)
  const reported = await assertReported(receiver, rows, DELIVERY_MS)
  const sealed = await assertSealed(t, folder)
  t.diagnostic(`${sealed} sealed events; ${reported} events in ${receiver.received.length} webhooks`)
}

test('503: another process locks the file for longer than the deadline, and unlocks it', async (t) => {
  const { receiver, env } = await withEverything(t)
  const scene = await setScene(t, temporaryFolder(t), env)
  let holder: ChildProcessByStdio<Writable, Readable, null> | undefined
  t.after(() => holder?.kill('SIGKILL'))
  await runOutage(t, scene, {
    async begin() {
      holder = spawn(process.execPath, [LOCK_PROCESS, scene.file], { stdio: ['pipe', 'pipe', 'inherit'] })
      await once(holder.stdout, 'data')
    },
    end: () => void holder?.stdin.end(),
    mustPass: READS_WITH_LIMITS,
  })
  assertIntact(scene)
  await assertEvidence(t, scene, receiver)
})

test('503: the disk is full, and has space again', async (t) => {
  const folder = newFolder('disk')
  const filler = join(folder, 'filler')
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return t.skip('NOT RUN: a file system of 4 MB cannot be mounted here (needs root); the next test covers the same errors')
  }
  t.after(() => {
    execFileSync('umount', ['--lazy', folder])
    rmdirSync(folder)
  })
  const scene = await setScene(t, folder)
  await runOutage(t, scene, {
    begin: () => void spawnQuietly('sh', ['-c', `cat /dev/zero > ${filler}`]),
    end: () => void spawnQuietly('rm', [filler]),
    ...NO_ROOM,
  })
  assertIntact(scene)
})

test('503: a limit of the process keeps files from growing, and is lifted', async (t) => {
  if (!commandExists('prlimit')) return t.skip('NOT RUN: prlimit (util-linux) is not installed')
  const scene = await setScene(t)
  const limit = (bytes: number | 'unlimited') =>
    execFileSync('prlimit', ['--pid', String(scene.service.process.pid), `--fsize=${bytes}:unlimited`], { stdio: 'ignore' })
  await runOutage(t, scene, { begin: () => void limit(statSync(`${scene.file}-wal`).size), end: () => void limit('unlimited'), ...NO_ROOM })
  assertIntact(scene)
})

test('503: the files are immutable, also for processes that have them open, and become writable again', async (t) => {
  let files: string[] = []
  // Otherwise the folder cannot be removed.
  t.after(() => void spawnQuietly('chattr', ['-i', ...files]))
  const scene = await setScene(t)
  files = [scene.file, `${scene.file}-wal`]
  if (!spawnQuietly('chattr', ['+i', scene.file])) return t.skip('NOT RUN: needs chattr, root, and a file system that supports it')
  execFileSync('chattr', ['-i', scene.file])
  await runOutage(t, scene, {
    begin: () => void execFileSync('chattr', ['+i', ...files]),
    end: () => void execFileSync('chattr', ['-i', ...files]),
    ...NO_ROOM,
  })
  assertIntact(scene)
})

test('read-only files and folder: acknowledged writes are kept, the next start reports the error, and a start after the repair finds everything', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('NOT RUN: needs root, to run the service as an account without privileges')
  const folder = temporaryFolder(t)
  chownSync(folder, NOBODY.uid, NOBODY.gid)
  const env = { SECRET_KEY: TEST_SECRET, LOG_LEVEL: 'warn' }
  const first = await startMain(t, { cwd: folder, env, account: NOBODY })
  const { file } = openFileDirectly(folder)
  const data = join(folder, 'data')
  const acknowledged: string[] = []
  const registerSome = async (url: string) => {
    for (let count = 0; count < 5; count++) {
      const email = newEmail()
      const { status, tookMs } = await ask(url, 'POST', '/register/', registration(email))
      assert.ok(status === 201 || status === 503, `${status}`)
      assert.ok(tookMs < 3000)
      if (status === 201) acknowledged.push(email)
    }
  }
  await registerSome(first.url)
  setModes(data, 0o444, 0o555)
  await registerSome(first.url)
  assert.equal((await ask(first.url, 'GET', '/heartbeat')).status, 200)
  first.child.kill('SIGKILL')
  await first.ended
  const refused = await runNode(t, MAIN, [], { cwd: folder, env: { ...env, PORT: '0' }, account: NOBODY })
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^latchkey: DATABASE_URL: .*\n$/)
  setModes(data, 0o600, 0o700)
  const third = await startMain(t, { cwd: folder, env, account: NOBODY })
  assert.ok((await untilServing(third.url, performance.now())) < 5000)
  const found = new Set(readColumn(file, 'select email as value from users'))
  assert.deepEqual(
    acknowledged.filter((email) => !found.has(email)),
    [],
  )
  assertIntact({ file })
  t.diagnostic(`${acknowledged.length} acknowledged registrations, 0 lost; "${refused.stderr.trim()}"`)
})

function setModes(folder: string, fileMode: number, folderMode: number): void {
  chmodSync(folder, 0o700)
  for (const name of readdirSync(folder)) if (name.startsWith('latchkey.db')) chmodSync(join(folder, name), fileMode)
  chmodSync(folder, folderMode)
}

function commandExists(name: string): boolean {
  return spawnQuietly('sh', ['-c', `command -v ${name}`])
}

function spawnQuietly(command: string, args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
