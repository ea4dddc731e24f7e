import { without } from '../../../model/entity.ts'
import { INVITATION, INVITATION_ROW, type Invitation, type InvitationRow } from '../../../model/invitation.ts'
import { insertInto, statement, type Transaction } from '../../database.ts'
import { changes, finds, findsIn, listsIn } from '../../repository-functions.ts'

// The database assigns the id.
const NEW_ROW = without(INVITATION_ROW, 'id')

const SAVE = statement(
  `${insertInto(NEW_ROW)} on conflict (email_key) do update
  set ${NEW_ROW.columnNames.map((name) => `${name} = excluded.${name}`).join(', ')} returning ${INVITATION.columns}`,
  INVITATION.fromRow,
)

/** Replaces an earlier invitation of the same address. */
export async function saveInvitation(tx: Transaction, invitation: Omit<InvitationRow, 'id'>): Promise<Invitation> {
  const saved = await tx.first(SAVE, ...NEW_ROW.toValues(invitation))
  if (saved === undefined) throw new Error('the invitation was not saved')
  return saved
}

export const findInvitation = findsIn<InvitationRow, [id: number, version: number, now: number]>(
  INVITATION_ROW,
  'where id = $1 and version = $2 and expires_at > $3',
)

export const findInvitationTo = findsIn<InvitationRow, [emailKey: string, now: number]>(
  INVITATION_ROW,
  'where email_key = $1 and expires_at > $2',
)

/** One page of open invitations, the newest first, starting after the given place. */
export const listInvitations = listsIn<Invitation, [now: number, createdAt: number, id: number, limit: number]>(
  INVITATION,
  'where expires_at > $1 and (created_at, id) < ($2, $3) order by created_at desc, id desc limit $4',
)

/** Ends the link that was mailed. Undefined if the invitation is not open. */
export const renewInvitation = finds<Invitation, [id: number, version: number, expiresAt: number, now: number], Transaction>(
  `update invitations set version = $2, expires_at = $3 where id = $1 and expires_at > $4 returning ${INVITATION.columns}`,
  INVITATION.fromRow,
)

/** Returns true for exactly one of any number of parallel calls. */
export const acceptInvitation = changes<Transaction, [id: number, version: number, now: number]>(
  'delete from invitations where id = $1 and version = $2 and expires_at > $3',
)

/** Returns false if the invitation is not open. */
export const deleteInvitation = changes<Transaction, [id: number, now: number]>('delete from invitations where id = $1 and expires_at > $2')
