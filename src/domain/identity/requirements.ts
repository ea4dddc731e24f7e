import type { Caller } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Role } from '../../model/user.ts'

/** What another service requires of a caller. */
export type Requirements = { readonly role?: Role | undefined; readonly scopes?: readonly string[] | undefined }

/** Refuses a caller who does not meet the requirements. A session satisfies every scope; a key only those that it carries. */
export function requireIdentity({ user, key }: Caller, { role, scopes = [] }: Requirements): void {
  if (role !== undefined && user.role !== role) throw new Refusal('not_permitted', `the role is not ${role}`)
  if (key === undefined) return
  const missing = scopes.filter((scope) => !key.scopes.includes(scope)).length
  if (missing > 0) throw new Refusal('not_permitted', `the key lacks ${missing} of ${scopes.length} scopes`)
}
