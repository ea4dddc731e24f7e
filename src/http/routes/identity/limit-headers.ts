import type { Counter } from '../../../domain/plans/counting.ts'
import type { LimitStatus } from '../../../domain/plans/plans.service.ts'

const NO_HEADERS = Object.freeze({})

/**
 * The limits of a key and what is left of them, as in draft-ietf-httpapi-ratelimit-headers-11: two lists of Structured Fields (RFC 9651) with
 * the names of the limits, `q` for the quota, `w` for the window in seconds, `r` for what remains and `t` for the seconds until the window
 * ends. None without a limit.
 */
export function limitHeaders(status: LimitStatus): Readonly<Record<string, string>> {
  if (status.length === 0) return NO_HEADERS
  const left = status.map(({ counter: { name }, remaining, resetMs }) => {
    const seconds = resetMs === undefined ? '' : `;t=${Math.max(0, Math.ceil(resetMs / 1000))}`
    return `"${name}";r=${remaining}${seconds}`
  })
  return { 'ratelimit-policy': status.map(({ counter }) => policyOf(counter)).join(', '), ratelimit: left.join(', ') }
}

const policies = new WeakMap<Counter, string>()

/** The same for every request of a key. */
function policyOf(counter: Counter): string {
  const known = policies.get(counter)
  if (known !== undefined) return known
  const policy = `"${counter.name}";q=${counter.limit.count};w=${counter.limit.periodMs / 1000}`
  policies.set(counter, policy)
  return policy
}
