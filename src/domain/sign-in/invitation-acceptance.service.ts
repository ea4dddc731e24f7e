import type { Origin } from '../../model/caller.ts'
import type { InvitationRow } from '../../model/invitation.ts'
import { Refusal } from '../../model/refusal.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import { acceptInvitation } from '../../storage/repositories/users/invitation.repository.ts'
import type { DomainParts } from '../changes/changes.ts'
import { openPageSession } from '../sessions/sessions.service.ts'
import type { Invitations } from '../users/invitations.service.ts'
import { addAccount, languageOf } from '../users/user-creation.ts'
import { type NewPasskey, type Passkeys, refusingKnownPasskey } from './passkeys.service.ts'

/** What opens the new account. */
type FirstWayIn = { readonly password: string } | { readonly passkey: object }

type Parts = Pick<DomainParts, 'changes' | 'tokens' | 'passwords' | 'now' | 'languages'> & {
  readonly invitations: Pick<Invitations, 'find'>
  /** Undefined where browsers accept none for the address of the service. */
  readonly passkeys: Pick<Passkeys, 'firstOptions' | 'prepareFirst'> | undefined
}

export type InvitationAcceptance = ReturnType<typeof createInvitationAcceptance>

const PASSKEY_NAME = 'First passkey'
const BY_PASSWORD = { method: 'password', secondFactor: false } as const
const BY_PASSKEY = { method: 'passkey', secondFactor: true } as const

/** An invited person creates their account, with the first way into it. */
export function createInvitationAcceptance({ changes, tokens, passwords, now, languages, invitations, passkeys }: Parts) {
  async function prepare(invitation: InvitationRow, wayIn: FirstWayIn, { signal }: Origin) {
    if ('password' in wayIn) return { passwordHash: await passwords.hash(wayIn.password, signal), passkey: undefined, how: BY_PASSWORD }
    return { passwordHash: NO_PASSWORD, passkey: await preparePasskey(invitation, wayIn.passkey), how: BY_PASSKEY }
  }

  async function preparePasskey(invitation: InvitationRow, credential: object): Promise<NewPasskey> {
    if (passkeys === undefined) throw new Refusal('invalid_passkey', 'there are no passkeys')
    return passkeys.prepareFirst({ handle: handleOf(invitation) }, credential)
  }

  return {
    /** What a browser needs to create a passkey for the new account. Undefined where browsers accept none. */
    passkeyOptions: (invitation: InvitationRow) => passkeys?.firstOptions({ ...invitation, handle: handleOf(invitation) }),
    /** Creates the account, verified, and opens a session on the web pages. Returns the token for its cookie. */
    async accept(origin: Origin, token: string, wayIn: FirstWayIn): Promise<string> {
      const invitation = await invitations.find(token)
      if (invitation === undefined) throw new Refusal('invitation_not_found')
      const { id, version, email, firstName, lastName, role } = invitation
      const { passwordHash, passkey, how } = await prepare(invitation, wayIn, origin)
      const change = changes.withoutCaller(origin, async (tx) => {
        if (!(await acceptInvitation(tx, id, version, now()))) throw new Refusal('invitation_not_found', 'used a moment ago')
        const language = languageOf(origin, languages)
        const userId = await addAccount(tx, { email, firstName, lastName, role, passwordHash, language, verified: true, createdAt: now() })
        await passkey?.store(tx, userId, PASSKEY_NAME)
        return openPageSession(tx, tokens, { userId, ...how, origin, now: now() })
      })
      return refusingKnownPasskey(change)
    },
  }
}

/** Ids of accounts are numbers, and the id of an invitation may be used again. */
function handleOf({ id, version }: InvitationRow): string {
  return `invitation ${id} ${version}`
}
