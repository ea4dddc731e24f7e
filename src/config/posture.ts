import { isLoopbackHostHeader } from '../shared/addresses.ts'
import type { Config } from './load.ts'

type Posture = Pick<Config, 'baseUrl' | 'rateLimits' | 'passwordBlocklist' | 'corsOrigins' | 'secondFactor'>

/** A setting that is fine on the own machine, and weak for a service that others can reach. */
type WeakSetting = { readonly name: string; readonly value: string; readonly problem: string }

/** What to set for a service with a public address. Nothing for a service of this machine only. */
export function weakSettings({ baseUrl, rateLimits, passwordBlocklist, corsOrigins, secondFactor }: Posture): readonly WeakSetting[] {
  if (isLoopbackHostHeader(new URL(baseUrl).host)) return []
  const hasLimits = Object.values(rateLimits).some((limit) => limit !== undefined)
  const weak: readonly (readonly [isWeak: boolean, WeakSetting])[] = [
    [!hasLimits, { name: 'RATE_LIMITS', value: 'standard', problem: 'is off: anybody can try passwords and request mails without limit' }],
    [
      passwordBlocklist === undefined,
      { name: 'PASSWORD_BLOCKLIST', value: 'common', problem: 'is none: users may choose passwords that everybody knows' },
    ],
    [
      corsOrigins === '*',
      { name: 'CORS_ORIGINS', value: 'the origins of your web pages', problem: 'is *: the pages of every site may call the API' },
    ],
    [
      secondFactor === 'optional',
      { name: 'SECOND_FACTOR', value: 'admins', problem: 'is optional: a password alone opens the account of an admin' },
    ],
  ]
  return weak.filter(([isWeak]) => isWeak).map(([, setting]) => setting)
}
