import type { Counter, Quota } from '../../../domain/plans/counting.ts'

const NO_HEADERS = Object.freeze({})

/**
 * The limits of a key and what is left of them, as in draft-ietf-httpapi-ratelimit-headers-11: two lists of Structured Fields (RFC 9651) with
 * the names of the limits, `q` for the quota, `w` for the window in seconds, `r` for what remains and `t` for the seconds until the window
 * ends. None without a limit.
 */
export function limitHeaders(quotas: readonly Quota[]): Readonly<Record<string, string>> {
  if (quotas.length === 0) return NO_HEADERS
  let policy = ''
  let left = ''
  for (const { counter, remaining, resetMs } of quotas) {
    const separator = left === '' ? '' : ', '
    policy += separator + policyOf(counter)
    left += `${separator}"${counter.name}";r=${remaining}`
    if (resetMs !== undefined) left += `;t=${Math.max(0, Math.ceil(resetMs / 1000))}`
  }
  return { 'ratelimit-policy': policy, ratelimit: left }
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
