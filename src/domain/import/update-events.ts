import type { Change } from '../../model/event.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import type { UserState } from '../../storage/repositories/import/import.repository.ts'
import type { ImportedUser } from './imported-user.ts'

/** What an import changes in an account that exists: the same events as if it had been changed by hand. */
export function changesOf(before: UserState, user: ImportedUser | undefined): Change[] {
  if (user === undefined) return []
  const target = before.id
  const edited = editedFields(before, user)
  const changes: (Change | false)[] = [
    edited.length > 0 && { kind: 'user.edited', target, changed: edited },
    before.passwordHash !== NO_PASSWORD && differs(user.passwordHash, before.passwordHash) && { kind: 'user.password_changed', target },
    user.verified === true && !before.verified && { kind: 'user.verified', target },
    // An import neither takes the admin role nor bans an admin.
    before.role !== 'admin' && user.role === 'admin' && { kind: 'user.promoted', target },
    before.role !== 'admin' && differs(user.banned, before.banned) && { kind: user.banned ? 'user.banned' : 'user.unbanned', target },
  ]
  return changes.filter((change) => change !== false)
}

function editedFields(before: UserState, { firstName, lastName, verified, passwordHash, keys }: ImportedUser): string[] {
  const fields = {
    first_name: differs(firstName, before.firstName),
    last_name: differs(lastName, before.lastName),
    verified: verified === false && before.verified,
    // Some products export passwords apart from the accounts: a first password changes none, so the owner gets no notice.
    password: passwordHash !== undefined && before.passwordHash === NO_PASSWORD,
    keys: keys.length > 0,
  }
  return Object.entries(fields).flatMap(([name, isChanged]) => (isChanged ? [name] : []))
}

/** What the file leaves out stays. */
function differs<Value>(given: Value | undefined, present: Value): boolean {
  return given !== undefined && given !== present
}
