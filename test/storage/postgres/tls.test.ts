import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../../src/model/refusal.ts'
import { type Database, statement } from '../../../src/storage/database.ts'
import { ping } from '../../../src/storage/repositories/operations/operations.repository.ts'
import { TEST_SECRET } from '../../support/app/start-app.ts'
import { freshDatabase, temporaryFolder } from '../../support/databases/databases.ts'
import { MAIN, runNode } from '../../support/processes/processes.ts'
import { makeCertificate, openSecured, startSecured } from '../../support/servers/certificates.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { startRawPeer } from '../../support/servers/listen.ts'

const IS_ENCRYPTED = statement<{ ssl: boolean }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
async function refusal(db: Database): Promise<string> {
  const error = await ping(db).catch((reason: unknown) => reason)
  assert.ok(error instanceof Refusal && error.code === 'unavailable', String(error))
  return error.message
}

test('sslmode decides whether a connection is encrypted and which certificates are accepted', async (t) => {
  const secured = await startSecured(t)
  if (secured === undefined) return t.skip('openssl is not installed')
  const { port, certificate } = secured
  const at = (host: string, query: string) => openSecured(t, `${host}:${port}/postgres?${query}`)
  const trusted = `sslrootcert=${encodeURIComponent(certificate.certFile)}`
  const strange = makeCertificate(t, 'IP:127.0.0.1')?.certFile ?? ''
  for (const [host, query, isEncrypted] of [
    ['127.0.0.1', '', false],
    ['127.0.0.1', 'sslmode=disable', false],
    ['127.0.0.1', 'sslmode=prefer', true],
    ['localhost', 'sslmode=require', true],
    ['localhost', `sslmode=verify-ca&${trusted}`, true],
    ['localhost', `sslmode=require&${trusted}`, true],
    ['127.0.0.1', `sslmode=verify-full&${trusted}`, true],
    ['127.0.0.1', trusted, true],
  ] as const)
    assert.deepEqual(await at(host, query).first(IS_ENCRYPTED), { ssl: isEncrypted }, `${host} ${query}`)
  for (const [host, query, reason] of [
    ['localhost', `sslmode=verify-full&${trusted}`, /Hostname\/IP does not match certificate's altnames/],
    ['localhost', trusted, /Hostname\/IP does not match certificate's altnames/],
    ['127.0.0.1', 'sslmode=verify-full', /self-signed certificate/],
    ['127.0.0.1', `sslmode=require&sslrootcert=${strange}`, /self-signed certificate/],
    ['127.0.0.1', 'sslmode=verify-full&sslrootcert=system', /self-signed certificate/],
  ] as const)
    assert.match(await refusal(at(host, query)), reason, `${host} ${query}`)
})

test('if TLS is required, nothing is sent in clear text: neither to a server without TLS nor to one that does not respond', async (t) => {
  const target = await freshDatabase(t, 'postgres')
  const { host, pathname } = new URL(target.setting)
  assert.match(await refusal(openSecured(t, `${host}${pathname}?sslmode=require`)), /the server offers no TLS/)
  assert.deepEqual(await openSecured(t, `${host}${pathname}?sslmode=prefer`).first(IS_ENCRYPTED), { ssl: false })
  const heard: Buffer[] = []
  const behave = { silent: 'S', eager: 'Sand more', foreign: 'HTTP/1.1 400' }
  for (const answer of Object.values(behave)) {
    const peer = await startRawPeer(t, (socket) => {
      socket.once('data', (first: Buffer) => {
        heard.push(first)
        socket.on('data', (next: Buffer) => heard.push(next))
        socket.write(answer)
      })
    })
    const before = performance.now()
    await refusal(openSecured(t, `127.0.0.1:${peer.port}/accounts?sslmode=require`))
    assert.ok(performance.now() - before < 30_000)
  }
  assert.ok(heard.length >= 3)
  assert.ok(heard.every((bytes) => !bytes.includes('postgres') && !bytes.includes('accounts')))
})

test('a root certificate that cannot be read stops the start, with an error that names the file', async (t) => {
  const cwd = temporaryFolder(t)
  const env = {
    SECRET_KEY: TEST_SECRET,
    DATABASE_URL: 'postgres://postgres@127.0.0.1:1/accounts?sslmode=verify-full&sslrootcert=/nowhere.pem',
  }
  const { code, stderr } = await runNode(t, MAIN, [], { cwd, env })
  assert.equal(code, 1)
  assert.equal(stderr, 'latchkey: DATABASE_URL: the PostgreSQL database cannot be used: sslrootcert: /nowhere.pem cannot be read\n')
})

test('unavailable: if the root certificate disappears during an outage of the database, requests still fail in time', async (t) => {
  const file = join(temporaryFolder(t), 'root.pem')
  writeFileSync(file, 'a certificate')
  const port = await freePort()
  const db = openSecured(t, `127.0.0.1:${port}/accounts?sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`)
  rmSync(file)
  // New connections are not replaced.
  await sleep(600)
  assert.match(await refusal(db), /ECONNREFUSED/)
  assert.match(await refusal(db), /ECONNREFUSED/)
})
