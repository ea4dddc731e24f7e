import { isIP } from 'node:net'
import type { RelyingParty } from '../model/factor.ts'

type Settings = {
  readonly baseUrl: string
  readonly frontendUrl: string | undefined
  readonly apiTitle: string
  /** PASSKEY_RP_ID and PASSKEY_ORIGINS. */
  readonly id: string | undefined
  readonly origins: readonly string[]
}

/** Where passkeys work. Undefined where browsers accept none: for an IP address, and without TLS for anything but localhost. */
export function relyingPartyOf(settings: Settings, errors: string[]): RelyingParty | undefined {
  const { baseUrl, frontendUrl, apiTitle, id, origins } = settings
  const { hostname, protocol, origin } = new URL(baseUrl)
  if (id !== undefined && id !== hostname && !(hostname.endsWith(`.${id}`) && id.includes('.')))
    errors.push(`PASSKEY_RP_ID: should be ${hostname}, the host of BASE_URL, or a parent domain of it, is "${id}"`)
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (isIP(hostname.replace(/^\[(.*)\]$/, '$1')) > 0 || (protocol !== 'https:' && !isLocal)) return undefined
  const others = frontendUrl === undefined ? origins : [new URL(frontendUrl).origin, ...origins]
  return { id: id ?? hostname, name: apiTitle, origins: [...new Set([origin, ...others])] }
}
