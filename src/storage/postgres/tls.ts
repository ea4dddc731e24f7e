import { readFileSync } from 'node:fs'
import { isIP, type Socket } from 'node:net'
import { type ConnectionOptions, checkServerIdentity, connect, getCACertificates } from 'node:tls'
import { untilEvent } from './socket-events.ts'
import type { PostgresAddress } from './url.ts'

export type Secured = (socket: Socket, host: string) => Promise<Socket>

// The message of PostgreSQL's protocol that asks for TLS: its length, and a number in the place of a version.
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const ACCEPTED = 'S'.charCodeAt(0)

/**
 * Turns a fresh connection into one with TLS, as far as `sslmode` demands it. The driver can do it too, but takes no file with a
 * root certificate, and compares the certificate of a host that is given by its address with the name `localhost`.
 */
export function createSecured({ sslMode, rootCertificate }: PostgresAddress): Secured {
  if (sslMode === 'disable') return async (socket) => socket
  const options: ConnectionOptions = {
    rejectUnauthorized: sslMode.startsWith('verify'),
    ...(rootCertificate !== undefined && { ca: readCertificates(rootCertificate) }),
  }
  return async (socket, host) => {
    if (!(await isOffered(socket))) {
      if (sslMode === 'prefer') return socket
      throw new Error('the server offers no TLS, which sslmode demands')
    }
    return handshake(socket, {
      ...options,
      ...(isIP(host) === 0 && { servername: host }),
      checkServerIdentity: (_name, certificate) => (sslMode === 'verify-ca' ? undefined : checkServerIdentity(host, certificate)),
    })
  }
}

function readCertificates(file: string): string | string[] {
  if (file === 'system') return getCACertificates('system')
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`sslrootcert: ${file} cannot be read`, { cause: error })
  }
}

/** Asks, and reads the one byte of the answer and no more: what follows belongs to the handshake. */
async function isOffered(socket: Socket): Promise<boolean> {
  socket.write(TLS_REQUEST)
  const answer = await untilEvent(socket, 'readable', () => socket.read(1) as Buffer | null)
  // More than the answer, before the handshake, was put there by somebody on the way.
  if (socket.readableLength > 0) throw new Error('the server sent more than its answer before TLS')
  return answer[0] === ACCEPTED
}

async function handshake(socket: Socket, options: ConnectionOptions): Promise<Socket> {
  const secure = connect({ ...options, socket })
  await untilEvent(secure, 'secureConnect', () => true)
  return secure
}
