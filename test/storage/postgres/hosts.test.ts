import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../../src/model/refusal.ts'
import type { Database } from '../../../src/storage/database.ts'
import { openPostgres } from '../../../src/storage/postgres/driver.ts'
import { ping } from '../../../src/storage/repositories/operations/operations.repository.ts'
import { freshDatabase } from '../../support/databases/databases.ts'
import { startBrokenProxy } from '../../support/servers/broken-proxy.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { startRawPeer } from '../../support/servers/listen.ts'

/** Opens a fresh database through a list of hosts in which it comes last. */
async function behind(t: TestContext, ...ports: number[]): Promise<Database> {
  const target = await freshDatabase(t, 'postgres')
  const url = new URL(target.setting)
  const db = openPostgres({
    url: `postgres://postgres@${[...ports.map((port) => `127.0.0.1:${port}`), url.host].join(',')}${url.pathname}`,
  })
  t.after(() => db.close())
  return db
}

async function servedWithin(db: Database, ms: number): Promise<void> {
  const deadline = performance.now() + ms
  for (;;) {
    const error = await ping(db).catch((reason: unknown) => reason)
    if (error === undefined) return
    if (!(error instanceof Refusal) || performance.now() > deadline) throw error
    await sleep(20)
  }
}

/** A port that drops TCP SYN packets, like a machine that is switched off: its process is suspended and its backlog is full. */
async function deafPort(t: TestContext): Promise<number> {
  const listen =
    "require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port) })"
  const child = spawn(process.execPath, ['-e', listen], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = await once(child.stdout, 'data')
  child.kill('SIGSTOP')
  const sockets = Array.from({ length: 4 }, () => connect(Number(said), '127.0.0.1').on('error', () => undefined))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    child.kill('SIGKILL')
  })
  await Promise.race(sockets.map((socket) => once(socket, 'connect')))
  return Number(said)
}

test('a host that refuses connections is skipped within the same request', async (t) => {
  const db = await behind(t, await freePort(), await freePort())
  await ping(db)
})

test('a host that does not respond, or closes the connection, is skipped', async (t) => {
  const silent = await startRawPeer(t, () => undefined)
  const rude = await startRawPeer(t, (socket) => void socket.destroy())
  const db = await behind(t, silent.port, rude.port)
  await servedWithin(db, 30_000)
  // From then on the driver prefers the host that responded.
  const before = performance.now()
  for (let count = 0; count < 20; count++) await ping(db)
  assert.ok(performance.now() - before < 30_000)
})

test('a host that is switched off is reported as unavailable in time, and skipped if another host is running', async (t) => {
  const dead = await deafPort(t)
  const alone = openPostgres({ url: `postgres://postgres@127.0.0.1:${dead}/accounts` })
  t.after(() => alone.close())
  for (const work of [() => ping(alone), () => alone.transaction(async (tx) => ping(tx))]) {
    const before = performance.now()
    await assert.rejects(work(), { name: 'Refusal', code: 'unavailable' })
    assert.ok(performance.now() - before < 30_000)
  }
  await servedWithin(await behind(t, dead), 30_000)
})

test('a network that drops all packets is reported as unavailable in time, and used again after it recovers', async (t) => {
  const target = await freshDatabase(t, 'postgres')
  const url = new URL(target.setting)
  const proxy = await startBrokenProxy(t, Number(url.port))
  const db = openPostgres({ url: `postgres://postgres@127.0.0.1:${proxy.port}${url.pathname}` })
  t.after(() => db.close())
  await ping(db)
  proxy.set('blackhole')
  const before = performance.now()
  const work = () => db.transaction(async (tx) => ping(tx))
  const outcomes = await Promise.allSettled([ping(db), ...Array.from({ length: 20 }, work)])
  assert.ok(performance.now() - before < 30_000)
  for (const outcome of outcomes) assert.ok(outcome.status === 'rejected' && outcome.reason instanceof Refusal)
  proxy.set('open')
  await servedWithin(db, 30_000)
  await Promise.all(Array.from({ length: 20 }, work))
})
