import { isLoopbackHostHeader } from '../../shared/addresses.ts'

/** The part of the Fetch API that a client needs. */
export type WebFetch = (url: string, options: FetchOptions) => Promise<Response>
// The type of the library that calls it.
type FetchOptions = Parameters<typeof globalThis.fetch>[1]

/** The provider cannot be reached, does not answer in time, or does not answer like a provider. */
class ProviderOutage extends Error {
  override readonly name = 'ProviderOutage'
}

/** All requests of one step of a sign-in together; each attempt alone. */
const STEP_MS = 8000
const ATTEMPT_MS = 4000
// The metadata and the keys of large providers have 10 to 60 KB.
const MAX_BYTES = 512 * 1024

/** Whether a client may send a request there: with TLS, or on this machine if the provider is on this machine. */
function isAllowed(url: URL, issuer: URL): boolean {
  const isLocal = issuer.protocol === 'http:' && isLoopbackHostHeader(issuer.host)
  return url.protocol === 'https:' || (isLocal && url.protocol === 'http:' && isLoopbackHostHeader(url.host))
}

/** Returns an address of a provider to which a browser may go. */
export function allowedUrl(url: URL, issuer: string): URL {
  if (!isAllowed(url, new URL(issuer))) throw new ProviderOutage('an address of the provider has no TLS')
  return url
}

/**
 * The requests of one step of a sign-in. They follow no redirect, read no more than a bounded number of bytes, and end in time. A request
 * that only reads is sent once more if it fails.
 */
export function createStepFetch(issuer: string, fetch: WebFetch): WebFetch {
  const deadline = AbortSignal.timeout(STEP_MS)
  const base = new URL(issuer)

  async function attempt(url: string, options: FetchOptions): Promise<Response> {
    const signal = AbortSignal.any([deadline, AbortSignal.timeout(ATTEMPT_MS)])
    const response = await fetch(url, { ...options, redirect: 'manual', signal })
    if (response.status >= 500 || (response.status >= 300 && response.status < 400))
      throw new ProviderOutage(`the provider answered with status ${response.status}`)
    const bytes = await readBounded(response)
    const type = response.headers.get('content-type') ?? ''
    return new Response(bytes, { status: response.status, headers: { 'content-type': type } })
  }

  return async (url, options) => {
    if (!isAllowed(new URL(url), base)) throw new ProviderOutage('an address of the provider has no TLS')
    for (let attemptsLeft = options?.method === 'POST' ? 0 : 1; ; attemptsLeft--) {
      try {
        return await attempt(url, options)
      } catch (error) {
        if (attemptsLeft === 0 || deadline.aborted) throw asOutage(error)
      }
    }
  }
}

async function readBounded(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new ProviderOutage(`the provider answered with more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}

function asOutage(error: unknown): ProviderOutage {
  if (error instanceof ProviderOutage) return error
  const { name, cause } = error instanceof Error ? error : { name: 'unknown', cause: undefined }
  const code = (cause as { readonly code?: unknown } | undefined)?.code
  return new ProviderOutage(`no answer (${typeof code === 'string' ? code : name})`)
}

/** Whether an error, or what caused it, is an outage. */
export function isOutage(error: unknown): boolean {
  return error instanceof ProviderOutage || (error instanceof Error && error.cause !== undefined && isOutage(error.cause))
}
