export const LIMIT_NAMES = [
  'login:ip',
  'login:account',
  'register:ip',
  'mail:ip',
  'mail:account',
  'reset:ip',
  'refresh:ip',
  'leaked:ip',
] as const

/** Wrong second factors, and wrong codes of sign-in mails. They are always counted, and no setting changes the limits. */
export const CODE_LIMIT_NAMES = ['code:account', 'mail-code:account'] as const

export type LimitName = (typeof LIMIT_NAMES)[number] | (typeof CODE_LIMIT_NAMES)[number]
/** Counts the requests of one network. */
export type AddressLimit = Extract<LimitName, `${string}:ip`>
/** Counts the requests about one e-mail address, whether or not it has an account. */
export type AccountLimit = Extract<LimitName, `${string}:account`>

/** At most `count` requests at once, and as many again spread over each period. */
export type RateLimit = { readonly count: number; readonly periodMs: number }
export type RateLimits = Readonly<Partial<Record<LimitName, RateLimit>>>

export const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const MAX_COUNT = 100_000
const ENTRY = /^([a-z:]+)=([1-9]\d{0,5})\/([smhd])$/

export const NO_LIMITS: RateLimits = Object.freeze({})

// docs/decisions/0012-rate-limits.md gives the reason for each number.
const STANDARD = 'login:ip=60/h,login:account=10/h,register:ip=60/h,mail:ip=60/h,mail:account=5/h,reset:ip=60/h,leaked:ip=60/m'

/** The limits of the sign-in pages, which are always on. */
export const PAGE_LIMITS: RateLimits = Object.freeze({
  'login:ip': { count: 30, periodMs: 60_000 },
  'login:account': { count: 10, periodMs: 60_000 },
})

const TEN_CODES: RateLimit = { count: 10, periodMs: 10 * 60_000 }
/**
 * Wrong codes of one account, which are always limited. The two count apart: anybody can send wrong codes of a mail, which must not keep the
 * owner of an account from the second step of a login.
 */
export const CODE_LIMITS: RateLimits = Object.freeze({ 'code:account': TEN_CODES, 'mail-code:account': TEN_CODES })

/** Reads `off`, `standard` or a list such as `login:ip=30/m,login:account=10/m`. Returns one problem for each bad entry. */
export function parseRateLimits(text: string): { readonly value: RateLimits } | { readonly problems: readonly string[] } {
  const setting = text.trim().toLowerCase()
  if (setting === 'off') return { value: NO_LIMITS }
  const limits: Partial<Record<LimitName, RateLimit>> = {}
  const problems: string[] = []
  for (const entry of (setting === 'standard' ? STANDARD : setting).split(',').map((item) => item.trim())) {
    const problem = addEntry(limits, entry)
    if (problem !== undefined) problems.push(problem)
  }
  return problems.length > 0 ? { problems } : { value: Object.freeze(limits) }
}

/** The text that `parseRateLimits` reads. */
export function rateLimitsText(limits: RateLimits): string {
  const units = Object.entries(UNITS_MS)
  const entries = Object.entries(limits).map(([name, { count, periodMs }]) => {
    const [unit = ''] = units.find(([, ms]) => ms === periodMs) ?? []
    return `${name}=${count}/${unit}`
  })
  return entries.length === 0 ? 'off' : entries.join(', ')
}

function addEntry(limits: Partial<Record<LimitName, RateLimit>>, entry: string): string | undefined {
  const [, name = '', digits = '', unit = ''] = ENTRY.exec(entry) ?? []
  const count = Number(digits)
  if (name === '' || count > MAX_COUNT)
    return `should be off, standard, or a list of entries such as login:ip=30/m with at most ${MAX_COUNT} per s, m, h or d; "${entry}" is none`
  const limit = LIMIT_NAMES.find((known) => known === name)
  if (limit === undefined) return `should be a list of the limits ${LIMIT_NAMES.join(', ')}; "${name}" is none`
  if (limits[limit] !== undefined) return `should be a list that has each limit once; "${name}" is repeated`
  limits[limit] = { count, periodMs: UNITS_MS[unit] ?? 0 }
  return undefined
}
