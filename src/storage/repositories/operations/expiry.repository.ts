import type { Queries } from '../../database.ts'
import { countsChanges } from '../../repository-functions.ts'
import { deleteListed } from '../../tables.ts'

/** Deletes at most `limit` rows whose time has come, the earliest first, by the index of that time. Returns how many it deleted. */
function deletesEarliest(table: string, key: string, time: string) {
  return countsChanges<Queries, [until: number, limit: number]>(
    deleteListed(table, key, `select ${key} from ${table} where ${time} <= $1 order by ${time} limit $2`),
  )
}

export const deleteEndedSessions = deletesEarliest('sessions', 'id', 'expires_at')
export const deleteEndedSecrets = deletesEarliest('retiring_secrets', 'key_hash', 'expires_at')
export const deleteEndedChallenges = deletesEarliest('login_challenges', 'id', 'expires_at')
export const deleteUsedChallenges = deletesEarliest('used_challenges', 'id', 'expires_at')
export const deleteEndedSignIns = deletesEarliest('email_sign_ins', 'recipient', 'expires_at')
export const deleteEndedHandOffs = deletesEarliest('hand_offs', 'id', 'expires_at')
export const deleteEndedInvitations = deletesEarliest('invitations', 'id', 'expires_at')
export const deleteEmailChanges = deletesEarliest('email_changes', 'user_id', 'requested_at')
export const deleteMailRecords = deletesEarliest('mail_history', 'id', 'at')
/** The time is in microseconds. */
export const deleteFreeLimits = deletesEarliest('rate_limits', 'key', 'free_at')
