import type { Caller } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Role } from '../../model/user.ts'
import { isScopeToken } from '../values/limits.ts'

/** What another service requires of a caller. */
export type Requirements = {
  readonly role?: Role | undefined
  readonly scopes?: readonly string[] | undefined
  readonly secondFactor?: boolean | undefined
}

/** Refuses a caller who does not meet the requirements. A session satisfies every scope; a key only those that it carries. */
export function requireIdentity(
  { user, key, secondFactor: hasFactor }: Caller,
  { role, scopes = [], secondFactor = false }: Requirements,
): void {
  if (role !== undefined && user.role !== role) throw new Refusal('not_permitted', `the role is not ${role}`)
  if (key === undefined) {
    if (secondFactor && !hasFactor) throw new Refusal('second_factor_required')
    return
  }
  const missing = scopes.filter((scope) => !key.scopes.includes(scope)).length
  if (missing > 0) throw new Refusal('not_permitted', `the key lacks ${missing} of ${scopes.length} scopes`)
}

/** Who needs a second factor. */
export type SecondFactorRule = 'optional' | 'admins' | 'everybody'

/** Refuses a session without a second factor, and a key whose owner has none, where one is required. */
export function requireFactor(rule: SecondFactorRule, { secondFactor }: Caller, { asAdmin }: { readonly asAdmin: boolean }): void {
  const isRequired = rule === 'everybody' || (rule === 'admins' && asAdmin)
  if (isRequired && !secondFactor) throw new Refusal('second_factor_required')
}

/** The scopes as one string, separated by spaces. A scope may be any text; one that is not a scope-token of RFC 6749 is left out. */
export function scopeString(scopes: readonly string[]): string {
  return scopes.filter(isScopeToken).join(' ')
}

/** The scopes that a string names. */
export function parseScopeString(text: string): string[] {
  return text.split(' ').filter((scope) => scope !== '')
}
