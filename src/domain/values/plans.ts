import { UNITS_MS } from './rate-limits.ts'

/** At most `count` units in each window of a period, such as `60/m`. The text is how people write it. */
export type Limit = { readonly text: string; readonly unit: LimitUnit; readonly count: number; readonly periodMs: number }
export type LimitUnit = 's' | 'm' | 'h' | 'd'
/** What an account may use. A plan has one limit or several, with a unit each. */
export type Plan = { readonly name: string; readonly limits: readonly [Limit, ...Limit[]] }
/** The plans of the settings. Accounts have the first one until an admin chooses another. */
export type Plans = readonly [Plan, ...Plan[]]

/** The names of the limits in the metrics. */
export const CHECK_LIMIT_NAMES = ['check:account', 'check:key'] as const

/** What one request counts for, at most. */
export const MAX_COST = 1000
export const MAX_COUNT = 1_000_000_000
const LIMIT = /^([1-9]\d{0,9})\/([smhd])$/
export const PLAN_NAME = /^[a-z0-9][a-z0-9_-]{0,39}$/
export const LIMIT_HINT = 'a number up to 1,000,000,000 per s, m, h or d, such as 10/m'

/** Reads `10/m`. Undefined for anything else. */
export function parseLimit(text: string): Limit | undefined {
  const [, digits = '', unit = ''] = LIMIT.exec(text) ?? []
  const count = Number(digits)
  const periodMs = UNITS_MS[unit]
  // The pattern knows the same units as the table.
  return periodMs === undefined || count > MAX_COUNT ? undefined : { text, unit: unit as LimitUnit, count, periodMs }
}

/** Reads `free=60/m,1000/d pro=600/m`. Returns one problem for each bad plan. */
export function parsePlans(text: string): { readonly value: Plans } | { readonly problems: readonly string[] } {
  const read = text.trim().toLowerCase().split(/\s+/).map(parsePlan)
  const plans = read.filter((plan) => typeof plan !== 'string')
  const problems = read.filter((plan) => typeof plan === 'string')
  for (const [index, { name }] of plans.entries())
    if (plans.findIndex((other) => other.name === name) < index) problems.push(`should have each plan once; "${name}" is repeated`)
  const [first, ...others] = plans
  return problems.length > 0 || first === undefined ? { problems } : { value: Object.freeze<Plans>([first, ...others]) }
}

/** Returns the plan, or what is wrong with it. */
function parsePlan(text: string): Plan | string {
  const [name = '', list = '', ...rest] = text.split('=')
  if (!PLAN_NAME.test(name) || list === '' || rest.length > 0)
    return `should be plans such as free=60/m,1000/d, separated by spaces, with names of at most 40 of a-z, 0-9, - and _; "${text}" is none`
  const items = list.split(',')
  const limits = items.flatMap((item) => parseLimit(item) ?? [])
  const wrong = items.find((item) => parseLimit(item) === undefined)
  if (wrong !== undefined) return `each limit of a plan should be ${LIMIT_HINT}; "${wrong}" of ${name} is none`
  if (new Set(limits.map(({ unit }) => unit)).size < limits.length) return `a plan should have one limit for each unit; ${name} has more`
  const [first, ...others] = limits
  return first === undefined ? `"${name}" should have a limit` : { name, limits: [first, ...others] }
}

/** The text that `parsePlans` reads. */
export function plansText(plans: Plans): string {
  return plans.map(({ name, limits }) => `${name}=${limits.map(({ text }) => text).join(',')}`).join(' ')
}

/** The plan of an account. One that the settings no longer have, like none, is the first. */
export function planOf(plans: Plans, name: string | undefined): Plan {
  return plans.find((plan) => plan.name === name) ?? plans[0]
}
