import { entity, instant, integer, type ValuesOf } from './entity.ts'
import { PROFILE, USER } from './user.ts'

/** An account that is created when the invited person accepts, as admins see it. */
export const INVITATION = entity('invitations', {
  id: integer,
  ...PROFILE.fields,
  role: USER.fields.role,
  createdAt: instant,
  expiresAt: instant,
})

export const INVITATION_ROW = entity('invitations', {
  ...INVITATION.fields,
  emailKey: PROFILE.fields.email,
  // Named by the link in the mail. A new link has another one.
  version: integer,
})

export type Invitation = ValuesOf<typeof INVITATION.fields>
export type InvitationRow = ValuesOf<typeof INVITATION_ROW.fields>
