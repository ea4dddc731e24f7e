import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryFolder } from '../databases/databases.ts'

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
  return { keyFile, certFile, key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') }
}

/** Makes the key readable only for PostgreSQL, which requires that and runs under another account if the tests run as root. */
export function handOver(certificate: Certificate, account: { readonly uid: number; readonly gid: number } | undefined): void {
  chmodSync(join(certificate.keyFile, '..'), 0o755)
  chmodSync(certificate.keyFile, 0o600)
  if (account) chownSync(certificate.keyFile, account.uid, account.gid)
}
