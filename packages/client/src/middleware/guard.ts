import { LatchkeyError } from '../error.ts'
import type { HeaderSource, Identity, OfflineIdentity, Requirement, Verifier } from '../verifiers/identity.ts'
import { createVerifier, type VerifierOptions } from '../verifiers/verifier.ts'

/** What a request carries behind a middleware. An offline verifier knows less about a caller. */
export type RequestIdentity = OfflineIdentity & Partial<Identity>

/** The URL of Latchkey, or a verifier, and what a caller must have. */
export type GuardOptions = Requirement & (VerifierOptions | { readonly verifier: Verifier<OfflineIdentity> })

export type Refusal = {
  readonly status: 401 | 403 | 429 | 503
  readonly headers: Readonly<Record<string, string>>
  readonly body: { readonly detail: string }
}

/** Returns who is calling, or the response that refuses the request, in the format of Latchkey. */
export type Guard = (headers: HeaderSource) => Promise<{ readonly identity: RequestIdentity } | { readonly refusal: Refusal }>

export function createGuard(options: GuardOptions): Guard {
  const { role, scope, secondFactor, data, cost } = options
  const verifier = 'verifier' in options ? options.verifier : createVerifier(options)
  return async (headers) => {
    try {
      return { identity: await verifier.verify(headers, { role, scope, secondFactor, data, cost }) }
    } catch (error) {
      if (error instanceof LatchkeyError) return { refusal: refusalOf(error) }
      throw error
    }
  }
}

function refusalOf({ code, status, message, retryAfterSeconds }: LatchkeyError): Refusal {
  const headers = { 'x-error-code': code }
  const body = { detail: message }
  if (status === 403) return { status, headers, body }
  if (status === 401) {
    const challenge = code === 'not_authenticated' ? 'Bearer' : 'Bearer error="invalid_token"'
    return { status, headers: { ...headers, 'www-authenticate': challenge }, body }
  }
  if (status === 429) return { status, headers: { ...headers, 'retry-after': String(retryAfterSeconds ?? 1) }, body }
  return { status: 503, headers: { ...headers, 'retry-after': '2' }, body }
}
