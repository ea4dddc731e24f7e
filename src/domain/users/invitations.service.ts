import { randomInt } from 'node:crypto'
import type { Actor, Operator } from '../../model/caller.ts'
import type { Invitation, InvitationRow } from '../../model/invitation.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Profile, Role } from '../../model/user.ts'
import { LIFETIME_MINUTES } from '../../security/token.ts'
import { enqueueMail } from '../../storage/repositories/mail/mail.repository.ts'
import {
  deleteInvitation,
  findInvitation,
  listInvitations,
  renewInvitation,
  saveInvitation,
} from '../../storage/repositories/users/invitation.repository.ts'
import { findUserByEmail } from '../../storage/repositories/users/user.repository.ts'
import { claimsOf, requireReader } from '../changes/callers.ts'
import { type ChangeTransaction, changeAsAdmin, type DomainParts } from '../changes/changes.ts'
import { emailKey } from '../values/email.ts'

export type Invitations = ReturnType<typeof createInvitations>

const LIFETIME_MS = LIFETIME_MINUTES.invitation * 60_000
// Every link has its own number, so that the link before it ends.
const MAX_VERSION = 2 ** 47
const PAGE_SIZE = 250

/** Invited people have no account until they accept: nobody else can use or reset it, and a withdrawn invitation leaves nothing behind. */
export function createInvitations(parts: Omit<DomainParts, 'observer' | 'passwords'>) {
  const { reads, lists, changes, tokens, now, onMailQueued } = parts

  /** Runs a change after which the invited person gets a new link. */
  async function mailing(by: Actor | Operator, work: (tx: ChangeTransaction) => Promise<Invitation>): Promise<Invitation> {
    const invitation = await changeAsAdmin(changes, by, async (tx) => {
      const changed = await work(tx)
      await enqueueMail(tx, 'invitation', emailKey(changed.email), now())
      return changed
    })
    onMailQueued()
    return invitation
  }

  async function find(token: string): Promise<InvitationRow | undefined> {
    const { userId: id, version } = claimsOf(tokens, token, 'invitation') ?? {}
    return id === undefined || version === undefined ? undefined : findInvitation(reads, id, version, now())
  }

  return {
    /** Replaces an open invitation of the same address. */
    create: (by: Actor | Operator, profile: Profile, role: Role): Promise<Invitation> =>
      mailing(by, async (tx) => {
        const key = emailKey(profile.email)
        if ((await findUserByEmail(tx, key)) !== undefined) throw new Refusal('email_taken')
        tx.record({ kind: 'invitation.created', ...(role === 'admin' && { changed: ['role'] }) })
        const times = { createdAt: now(), expiresAt: now() + LIFETIME_MS }
        return saveInvitation(tx, { ...profile, emailKey: key, role, ...times, version: randomInt(MAX_VERSION) })
      }),
    /** Mails a new link. The one before it ends. */
    async resend(by: Actor | Operator, id: number): Promise<void> {
      await mailing(by, async (tx) => {
        const renewed = await renewInvitation(tx, id, randomInt(MAX_VERSION), now() + LIFETIME_MS, now())
        if (renewed === undefined) throw new Refusal('invitation_not_found')
        tx.record({ kind: 'mail.requested' })
        return renewed
      })
    },
    withdraw: (by: Actor | Operator, id: number): Promise<void> =>
      changeAsAdmin(changes, by, async (tx) => {
        if (!(await deleteInvitation(tx, id, now()))) throw new Refusal('invitation_not_found')
        tx.record({ kind: 'invitation.withdrawn' })
      }),
    /** The open ones, the newest first, one page at a time. Refuses once the reader is no longer an admin. */
    async *list({ caller }: Actor | Operator): AsyncGenerator<readonly Invitation[]> {
      let last = { createdAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER }
      for (;;) {
        if (caller !== 'operator') await requireReader(reads, caller, now())
        const page = await listInvitations(lists, now(), last.createdAt, last.id, PAGE_SIZE)
        yield page
        last = page.at(-1) ?? last
        if (page.length < PAGE_SIZE) return
      }
    },
    /** The open invitation that a link was mailed for. Changes nothing. */
    find,
  }
}
