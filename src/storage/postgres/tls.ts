import { readFileSync } from 'node:fs'
import { type ConnectionOptions, checkServerIdentity, getCACertificates } from 'node:tls'
import { connectionError } from './errors.ts'
import type { PostgresAddress } from './url.ts'

/** The `ssl` option of the driver for one host. The driver requests TLS, and sends nothing else before the handshake has succeeded. */
export type DriverTls = false | 'prefer' | ConnectionOptions

export function driverTls({ sslMode, rootCertificate }: PostgresAddress, host: string): DriverTls {
  switch (sslMode) {
    case 'disable':
      return false
    case 'prefer':
      return 'prefer'
    case 'require':
      return { rejectUnauthorized: false }
    case 'verify-ca':
      return { ...trusting(rootCertificate), checkServerIdentity: () => undefined }
    case 'verify-full':
      // Node compares the certificate of a server that is reached by its IP address with the name `localhost`.
      return { ...trusting(rootCertificate), checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate) }
  }
}

function trusting(rootCertificate: string | undefined): ConnectionOptions {
  return rootCertificate === undefined ? {} : { ca: readCertificates(rootCertificate) }
}

function readCertificates(file: string): string | string[] {
  if (file === 'system') return getCACertificates('system')
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw connectionError('ROOT_CERTIFICATE', `sslrootcert: ${file} cannot be read`, error)
  }
}
