import { randomInt } from 'node:crypto'

/** Every feature that is off by default. Limits count by client address: `fromAnywhere` chooses one. */
export const EVERYTHING_ON = {
  CONFIRM_EMAIL_CHANGES: 'true',
  SELF_DELETION: 'true',
  SECURITY_NOTICES: 'true',
  RATE_LIMITS: 'standard',
  TRUST_PROXY: 'true',
} as const

/** Limits that are counted like those of `standard`, and that no traffic from one address reaches. */
export const WIDE_LIMITS = ['login:ip', 'login:account', 'register:ip', 'mail:ip', 'mail:account', 'reset:ip', 'leaked:ip']
  .map((name) => `${name}=100000/h`)
  .join()

/** The headers of a request from any network, where the service trusts its proxy. */
export function fromAnywhere(): Record<string, string> {
  return { 'x-forwarded-for': `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}` }
}
