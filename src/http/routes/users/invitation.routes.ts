import type { Invitations } from '../../../domain/users/invitations.service.ts'
import { INVITATION, type Invitation } from '../../../model/invitation.ts'
import { described, Empty } from '../../answers/replies.ts'
import { sendList } from '../../answers/serialize.ts'
import type { App } from '../../pipeline/declarations.ts'
import { defaulted, Email, FirstName, integer, LastName, type Static, Type, timestamp } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { PROFILE_FIELDS, RoleView } from './user.schemas.ts'

const InvitationId = integer('The id of an invitation.', 3)
const InvitationPath = Type.Object({ id: InvitationId })
const InvitationBody = Type.Object(
  {
    email: Email,
    first_name: FirstName,
    last_name: LastName,
    role: defaulted(Type.Enum(['user', 'admin'], { default: 'user', description: 'The role of the new account.' })),
  },
  { title: 'NewInvitation', description: 'Somebody who is to get an account.' },
)
const InvitationView = Type.Object(
  {
    id: InvitationId,
    ...PROFILE_FIELDS,
    role: RoleView,
    created_at: timestamp('When it was made, in UTC.'),
    expires_at: timestamp('When its link ends, in UTC.', '2026-02-07T09:30:00.000Z'),
  },
  { title: 'Invitation', description: 'An invitation that was not accepted yet.' },
)
const invitationView = INVITATION.toJson satisfies (invitation: Invitation) => Static<typeof InvitationView>

/** Invitations, for admins. */
export function invitationRoutes(app: App, invitations: Invitations, { isDisabled }: { readonly isDisabled: boolean }): void {
  const api = createApiRoutes(app, 'User administration')
  const path = '/users/invitations'
  const writing = { access: 'admin', acceptedKeys: 'full', writes: true, isDisabled } as const

  api.post(path, 'createInvitation', {
    config: writing,
    summary: 'Invite somebody',
    description:
      'Mails a link that works once, within seven days. It opens a page where the invited person sets a password or creates a passkey: then the account exists, is ' +
      'verified, and they are signed in. Another invitation of the same address replaces this one.',
    body: InvitationBody,
    response: { 201: described(InvitationView, 'The invitation.'), refuses: ['email_taken'] },
    handle: async ({ actor, body }, reply) => {
      const { email, first_name, last_name, role } = body
      const invitation = await invitations.create(actor, { email, firstName: first_name, lastName: last_name }, role)
      return reply.code(201).send(invitationView(invitation))
    },
  })

  api.get(path, 'listInvitations', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false, isDisabled },
    summary: 'List invitations',
    description: 'The open ones, the newest first.',
    response: { 200: described(Type.Array(InvitationView), 'The open invitations.') },
    handle: ({ actor }, reply) => sendList(reply, invitations.list(actor), invitationView),
  })

  api.delete(`${path}/:id`, 'withdrawInvitation', {
    config: writing,
    summary: 'Withdraw an invitation',
    description: 'Its link stops working.',
    params: InvitationPath,
    response: { 204: Empty, refuses: ['invitation_not_found'] },
    handle: ({ actor, params }) => invitations.withdraw(actor, params.id),
  })

  api.post(`${path}/:id/resend`, 'resendInvitation', {
    config: writing,
    summary: 'Mail a new link',
    description: 'The new link works for seven days. The link before it stops working.',
    params: InvitationPath,
    response: { 204: Empty, refuses: ['invitation_not_found'] },
    handle: ({ actor, params }) => invitations.resend(actor, params.id),
  })
}
