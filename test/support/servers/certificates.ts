import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { openPostgres } from '../../../src/storage/postgres/driver.ts'
import { temporaryFolder } from '../databases/databases.ts'
import { SERVER_ACCOUNT, startPostgres } from '../databases/postgres-server.ts'

export type Certificate = { readonly keyFile: string; readonly certFile: string; readonly key: string; readonly cert: string }

/** Creates a self-signed certificate with openssl; undefined if openssl is not installed. `names` as in `DNS:localhost`. */
export function makeCertificate(t: TestContext, names = 'DNS:localhost'): Certificate | undefined {
  const folder = temporaryFolder(t)
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const options = ['-nodes', '-days', '2', '-keyout', keyFile, '-out', certFile, '-subj', '/CN=test', '-addext', `subjectAltName=${names}`]
  try {
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...options], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  chmodSync(keyFile, 0o600)
  return { keyFile, certFile, key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') }
}

/** A PostgreSQL server with TLS. Its certificate is for its address and for another name, but not for localhost. */
export async function startSecured(t: TestContext): Promise<{ port: number; certificate: Certificate } | undefined> {
  const certificate = makeCertificate(t, 'IP:127.0.0.1,DNS:db.example.com')
  if (certificate === undefined) return undefined
  // PostgreSQL requires a key that only its own account can read.
  chmodSync(join(certificate.keyFile, '..'), 0o755)
  if (SERVER_ACCOUNT) chownSync(certificate.keyFile, SERVER_ACCOUNT.uid, SERVER_ACCOUNT.gid)
  const server = await startPostgres(['ssl=on', `ssl_cert_file=${certificate.certFile}`, `ssl_key_file=${certificate.keyFile}`])
  t.after(() => server.stop())
  return { port: server.port, certificate }
}

export function openSecured(t: TestContext, address: string): Database {
  const db = openPostgres({ url: `postgres://postgres@${address}` })
  t.after(() => db.close())
  return db
}
