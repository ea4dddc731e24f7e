import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createSigner } from 'fast-jwt'

/** The content of a token that other services verify without asking. Times are in seconds. */
type OfflineClaims = {
  readonly iss: string
  readonly sub: string
  readonly aud: string
  readonly iat: number
  readonly exp: number
  readonly jti: string
  readonly email: string
  readonly role: string
  readonly method: 'session' | 'api_key'
  readonly scope?: string
}

export type SignOffline = (claims: OfflineClaims) => string

/** A key pair for ES256. The private part is PEM and leaves the process only encrypted. */
export function generateSigningKeyPair() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomUUID()
  const publicJwk = JSON.stringify({ ...publicKey.export({ format: 'jwk' }), kid: id, alg: 'ES256', use: 'sig' })
  return { id, publicJwk, privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

/** `typ` is that of RFC 9068, which a verifier can tell from every other kind of token. */
export function createOfflineSigner(id: string, privateKey: string): SignOffline {
  const sign = createSigner({ key: privateKey, algorithm: 'ES256', kid: id, header: { alg: 'ES256', typ: 'at+jwt' } })
  return (claims) => sign({ ...claims })
}
