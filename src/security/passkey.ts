import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { PasskeyRow, RelyingParty } from '../model/factor.ts'

/** What a browser returns of an authenticator, as `toJSON()` writes it. */
type GivenCredential = {
  readonly id: string
  readonly rawId: string
  readonly type: string
  readonly response: Readonly<Record<string, unknown>>
}

/** Undefined for an object of another shape. */
export function asCredential(given: object): GivenCredential | undefined {
  const { id, rawId, type, response } = given as Partial<Record<keyof GivenCredential, unknown>>
  if (!isId(id) || !isId(rawId) || type !== 'public-key' || typeof response !== 'object' || response === null) return undefined
  return { id, rawId, type, response: { ...response } }
}

type VerifiedPasskey = Pick<PasskeyRow, 'credentialId' | 'publicKey' | 'counter' | 'transports' | 'backedUp'>

const TIMEOUT_MS = 5 * 60_000
// Ed25519, ES256 and RS256: what authenticators have.
const ALGORITHMS = [-8, -7, -257]
const MAX_TRANSPORTS = 10
// An id has at most 1,023 bytes.
const MAX_ID_LENGTH = 1400

/** What `PublicKeyCredential.parseCreationOptionsFromJSON()` takes. */
export function creationOptions(
  { id, name }: RelyingParty,
  challenge: string,
  user: { readonly handle: string; readonly email: string; readonly displayName: string },
  existing: readonly Pick<PasskeyRow, 'credentialId' | 'transports'>[],
) {
  return {
    rp: { id, name },
    user: { id: user.handle, name: user.email, displayName: user.displayName },
    challenge,
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MS,
    attestation: 'none',
    excludeCredentials: existing.map(({ credentialId, transports }) => ({
      type: 'public-key',
      id: credentialId,
      transports: [...transports],
    })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
  }
}

/** What `PublicKeyCredential.parseRequestOptionsFromJSON()` takes. It names no passkey, so that it tells nothing about any account. */
export function requestOptions({ id }: RelyingParty, challenge: string) {
  return { rpId: id, challenge, timeout: TIMEOUT_MS, userVerification: 'required', allowCredentials: [] }
}

/** The challenge that a credential answers; undefined if it is not readable. */
export function challengeOf({ response }: GivenCredential): string | undefined {
  try {
    const data: unknown = JSON.parse(Buffer.from(String(response['clientDataJSON']), 'base64url').toString('utf8'))
    const challenge = typeof data === 'object' && data !== null && 'challenge' in data ? data.challenge : undefined
    return typeof challenge === 'string' ? challenge : undefined
  } catch {
    return undefined
  }
}

/** Undefined if the authenticator has not created it for this service, in answer to this challenge, after it had verified its user. */
export async function verifyNewPasskey(
  { id, origins }: RelyingParty,
  credential: GivenCredential,
  challenge: string,
): Promise<VerifiedPasskey | undefined> {
  if (!(await attestsItself(credential))) return undefined
  const { verifyRegistrationResponse } = await library()
  const verified = await orUndefined(
    verifyRegistrationResponse({
      response: credential as unknown as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  )
  if (!verified?.verified) return undefined
  const { credential: created, credentialBackedUp: backedUp } = verified.registrationInfo
  const { transports } = credential.response
  return {
    credentialId: created.id,
    publicKey: Buffer.from(created.publicKey).toString('base64url'),
    counter: created.counter,
    transports: Array.isArray(transports) ? transports.filter(isTransport).slice(0, MAX_TRANSPORTS) : [],
    backedUp,
  }
}

/** Undefined if the passkey has not signed this challenge for this service, or if its counter has gone back. */
export async function verifyPasskey(
  { id, origins }: RelyingParty,
  credential: GivenCredential,
  challenge: string,
  { credentialId, publicKey, counter }: PasskeyRow,
): Promise<{ readonly counter: number; readonly backedUp: boolean } | undefined> {
  const { verifyAuthenticationResponse } = await library()
  const verified = await orUndefined(
    verifyAuthenticationResponse({
      response: credential as unknown as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: id,
      credential: { id: credentialId, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter },
      requireUserVerification: true,
    }),
  )
  if (!verified?.verified) return undefined
  return { counter: verified.authenticationInfo.newCounter, backedUp: verified.authenticationInfo.credentialBackedUp }
}

/**
 * Whether nobody else vouches for the authenticator. We ask for no attestation, and the library would fetch lists of revoked certificates
 * from addresses that the certificates of an attestation name: anybody could have the service call any address.
 */
async function attestsItself({ response }: GivenCredential): Promise<boolean> {
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers')
  try {
    const attestation = decodeAttestationObject(isoBase64URL.toBuffer(String(response['attestationObject'])))
    const format = attestation.get('fmt')
    return format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined)
  } catch {
    return false
  }
}

/** Loaded by the first passkey: it takes 27 MB and a tenth of a second, which a service without passkeys does not pay. */
function library() {
  return import('@simplewebauthn/server')
}

/** The library throws for whatever is wrong with a credential. */
async function orUndefined<Value>(verified: Promise<Value>): Promise<Value | undefined> {
  return verified.catch(() => undefined)
}

/** In base64url: any other text is not for the database. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_ID_LENGTH && /^[\w-]+$/.test(value)
}

function isTransport(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z-]{1,20}$/.test(value)
}
