import type { Schemas } from '../api.ts'
import { refusal } from '../error.ts'
import { bodyOf, type Fetch, reach } from '../http.ts'

const TIMEOUT_MS = 3000
// As long as the service allows caches to keep the set.
const FRESH_MS = 5 * 60_000
// While the service is not reachable, its keys are trusted for this long.
const STALE_MS = 60 * 60_000
// Tokens that name unknown keys must not become requests to the service.
const COOL_DOWN_MS = 30_000

export type KeySet = {
  /** The public key with this id; undefined if the service has none. Throws if it cannot be found out. */
  find(id: string): Promise<CryptoKey | undefined>
}

type Loaded = { readonly keys: ReadonlyMap<string, CryptoKey>; readonly at: number }

/** The public keys of the service. They are fetched when a token needs them, and kept. */
export function createKeySet(url: string, fetch: Fetch, now: () => number): KeySet {
  let loaded: Loaded | undefined
  let loading: Promise<void> | undefined
  let triedAt = Number.NEGATIVE_INFINITY
  let failure: unknown

  async function load(): Promise<void> {
    const at = now()
    triedAt = at
    try {
      const response = await reach(fetch, url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
      const { keys } = (await bodyOf(response)) as Schemas['KeySet']
      const imported = await Promise.all(keys.map(importKey))
      loaded = { keys: new Map(imported.filter((entry) => entry !== undefined)), at }
      failure = undefined
    } catch (error) {
      failure = error
    } finally {
      loading = undefined
    }
  }

  return {
    async find(id) {
      const known = loaded?.keys.get(id)
      const age = () => now() - (loaded?.at ?? Number.NEGATIVE_INFINITY)
      if (known !== undefined && age() < FRESH_MS) return known
      if (loaded === undefined || loading !== undefined || now() - triedAt >= COOL_DOWN_MS) {
        loading ??= load()
        await loading
      }
      if (failure === undefined) return loaded?.keys.get(id)
      if (known !== undefined && age() < STALE_MS) return known
      throw refusal('unavailable', failure)
    },
  }
}

/** Undefined for a key that cannot verify a token of Latchkey. */
async function importKey({ kty, crv, x, y, kid, alg, use }: Schemas['PublicKey']): Promise<[string, CryptoKey] | undefined> {
  if (alg !== 'ES256' || use !== 'sig') return undefined
  try {
    return [kid, await crypto.subtle.importKey('jwk', { kty, crv, x, y }, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify'])]
  } catch {
    return undefined
  }
}
