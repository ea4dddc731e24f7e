import assert from 'node:assert/strict'
import { openSignIn } from '../../../src/storage/repositories/sign-in/email-sign-in.repository.ts'
import { findInvitationTo } from '../../../src/storage/repositories/users/invitation.repository.ts'
import { OPERATOR } from '../http/origins.ts'
import { newEmail } from '../http/requests.ts'
import type { Actor } from './actors.ts'
import type { TestApp } from './start-app.ts'

/** The token in the link of a sign-in mail, as if one had been sent. */
export async function signInToken({ db, clock, services }: TestApp, { id, email, resetVersion }: Actor): Promise<string> {
  await openSignIn(db, email.toLowerCase(), id, resetVersion, clock.now() + 15 * 60_000)
  return services.tokens.forMail('sign_in', id, id)
}

/** The token in the link of a new invitation, and its id. */
export async function invitationToken(
  { db, clock, services }: TestApp,
  email = newEmail(),
): Promise<{ readonly id: number; readonly token: string }> {
  await services.invitations.create(OPERATOR, { email, firstName: 'Ida', lastName: 'Invited' }, 'user')
  const { id, version } = (await findInvitationTo(db, email, clock.now())) ?? assert.fail('no invitation')
  return { id, token: services.tokens.forMail('invitation', id, version) }
}
