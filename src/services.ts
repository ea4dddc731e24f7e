import { type Audit, createAudit } from './domain/audit/audit.service.ts'
import { createFailedLogins, type FailedLogins } from './domain/audit/failed-logins.ts'
import { createChanges, type FollowUp } from './domain/changes/changes.ts'
import { createFollowUps } from './domain/changes/follow-ups.ts'
import { type Authentication, createAuthentication } from './domain/identity/authentication.service.ts'
import { createIntrospection, type Introspection } from './domain/identity/introspection.service.ts'
import { createOfflineTokens, type OfflineTokens } from './domain/identity/offline-tokens.service.ts'
import { createSigningKeys, type SigningKeys } from './domain/identity/signing-keys.ts'
import { createKeyDirectory, type KeyDirectory } from './domain/keys/key-directory.service.ts'
import { createKeyUse } from './domain/keys/key-use.ts'
import { type ApiKeys, createApiKeys } from './domain/keys/keys.service.ts'
import { createLeakedKeys, type LeakedKeys } from './domain/keys/leaked-keys.service.ts'
import { createKnownNetworks } from './domain/limits/known-networks.ts'
import { createLimiter, type Limiter } from './domain/limits/rate-limits.service.ts'
import { createMailAdministration, type MailAdministration } from './domain/mail/mail-administration.service.ts'
import { isNoticed } from './domain/mail/security-notices.ts'
import { NO_OBSERVER, type Observer } from './domain/operations/observer.ts'
import { createSessionUse, type SessionUse } from './domain/sessions/session-use.ts'
import { createUserSessions, type UserSessions } from './domain/sessions/sessions.service.ts'
import { createFirstAdmin, type FirstAdmin } from './domain/sign-in/first-admin.service.ts'
import { createSessions, type Sessions } from './domain/sign-in/login.service.ts'
import { createPasswordReset, type PasswordReset } from './domain/sign-in/password-reset.service.ts'
import { type Accounts, createAccounts } from './domain/sign-in/registration.service.ts'
import { createSelfDeletion, type SelfDeletion } from './domain/sign-in/self-deletion.service.ts'
import { createEmailChanges, type EmailChanges } from './domain/users/email-changes.service.ts'
import { createUserAdministration, type UserAdministration } from './domain/users/user-administration.service.ts'
import { createUserDirectory, type UserDirectory } from './domain/users/user-directory.service.ts'
import { createOwnPassword, createUsers, type OwnPassword, type Users } from './domain/users/users.service.ts'
import { DEFAULT_KEY_PREFIX } from './domain/values/limits.ts'
import { NO_LIMITS, PAGE_LIMITS, type RateLimits } from './domain/values/rate-limits.ts'
import { createWebhookAdministration, type WebhookAdministration } from './domain/webhooks/webhook-administration.service.ts'
import type { WebhookSubscription } from './domain/webhooks/webhook-queue.ts'
import type { Event } from './model/event.ts'
import type { Secrets } from './security/derived-keys.ts'
import { createLimitKeys } from './security/limit-keys.ts'
import { createPasswords, type Passwords } from './security/password.ts'
import { createTokens, type Tokens } from './security/token.ts'
import { type Database, readsOf } from './storage/database.ts'

/** The dependencies of the services. Tests pass a clock that they control. */
export type Parts = {
  readonly db: Database
  readonly secrets: Secrets
  readonly now: () => number
  readonly passwords?: Passwords | undefined
  /** The prefix of new API keys. */
  readonly keyPrefix?: string | undefined
  readonly rateLimits?: RateLimits | undefined
  /** Whether users can sign in on pages, which are always limited. */
  readonly hasPages?: boolean | undefined
  readonly securityNotices?: boolean | undefined
  readonly observer?: Observer | undefined
  readonly sessionUse?: SessionUse | undefined
  /** Called after each commit that queued a mail. */
  readonly onMailQueued?: (() => void) | undefined
  /** What is written together with each change. Benchmarks leave it out. */
  readonly followUps?: readonly FollowUp[] | undefined
  /** The receiver of webhooks, and the events that it gets. */
  readonly webhooks?: WebhookSubscription | undefined
  /** Whether a browser on this machine may create the first admin. */
  readonly hasFirstAdminForm?: boolean | undefined
  /** Called after the commit with each security-relevant change. */
  readonly onEvent?: ((event: Event) => void) | undefined
}

export type Services = {
  readonly tokens: Tokens
  readonly authentication: Authentication
  readonly accounts: Accounts
  readonly firstAdmin: FirstAdmin
  readonly sessions: Sessions
  readonly passwordReset: PasswordReset
  readonly users: Users
  readonly ownPassword: OwnPassword
  readonly emailChanges: EmailChanges
  readonly selfDeletion: SelfDeletion
  readonly userAdministration: UserAdministration
  readonly userSessions: UserSessions
  readonly apiKeys: ApiKeys
  readonly introspection: Introspection
  readonly leakedKeys: LeakedKeys
  readonly signingKeys: SigningKeys
  readonly offlineTokens: OfflineTokens
  readonly limiter: Limiter
  /** The limits of the sign-in pages. They count apart from those of the API. */
  readonly pageLimiter: Limiter
  readonly userDirectory: UserDirectory
  readonly audit: Audit
  readonly failedLogins: FailedLogins
  readonly webhooks: WebhookAdministration
  readonly keyDirectory: KeyDirectory
  readonly mailAdministration: MailAdministration
}

/** Builds the services, both for the server and for the command line. */
export function createServices(parts: Parts): Services {
  const { db, secrets, now, passwords = createPasswords(), observer = NO_OBSERVER } = parts
  const { keyPrefix = DEFAULT_KEY_PREFIX, rateLimits: limits = NO_LIMITS, securityNotices } = parts
  const { onMailQueued = () => undefined, onEvent = () => undefined, sessionUse = createSessionUse(db, now) } = parts
  const tokens = createTokens(secrets, now)
  const reads = readsOf(db)
  const lists = readsOf(db.lists)
  const observed = (event: Event) => {
    observer.recorded(event.kind)
    onEvent(event)
    if (securityNotices && isNoticed(event)) onMailQueued()
  }
  const followUps = parts.followUps ?? createFollowUps({ secrets, webhooks: parts.webhooks, securityNotices })
  const changes = createChanges({ db, now, followUps, onEvent: observed })
  const keyOf = createLimitKeys(secrets)
  const signingKeys = createSigningKeys({ reads, changes, now, secrets })
  const known = createKnownNetworks({ db, keyOf, now, isUsed: parts.hasPages === true || limits['login:account'] !== undefined })
  const limiter = createLimiter({ db, rules: [{ limits, keyOf }], known, observer, now })
  // Guesses on the pages count for the limits of the settings too: those could otherwise be avoided by signing in there.
  const pageRules = [
    { limits: PAGE_LIMITS, keyOf: (...parts: readonly string[]) => keyOf('pages', ...parts) },
    { limits, keyOf },
  ]
  const pageLimiter = createLimiter({ db, rules: pageRules, known, observer, now })
  const failedLogins = createFailedLogins(changes, now)
  return {
    tokens,
    authentication: createAuthentication({
      reads,
      tokens,
      observer,
      now,
      recordKeyUse: createKeyUse(db, now),
      noteSessionUse: sessionUse.note,
    }),
    accounts: createAccounts({ reads, changes, tokens, passwords, observer, now, onMailQueued }),
    firstAdmin: createFirstAdmin({ reads, changes, passwords, now, hasForm: parts.hasFirstAdminForm === true }),
    sessions: createSessions({ reads, changes, tokens, passwords, observer, now, noteFailedLogin: failedLogins.note }),
    passwordReset: createPasswordReset({ reads, changes, tokens, passwords, observer, now, onMailQueued }),
    users: createUsers({ reads, changes, passwords, now, limiter, onMailQueued }),
    ownPassword: createOwnPassword({ reads, changes, tokens, passwords, now }),
    emailChanges: createEmailChanges({ reads, changes, tokens, observer, now }),
    selfDeletion: createSelfDeletion({ reads, changes, passwords, now, noteFailedLogin: failedLogins.note }),
    userAdministration: createUserAdministration({ reads, lists, changes, now, onMailQueued }),
    userSessions: createUserSessions({ reads, changes, now }),
    apiKeys: createApiKeys({ reads, changes, now, keyPrefix }),
    leakedKeys: createLeakedKeys({ reads, changes, now }),
    introspection: createIntrospection({ reads, tokens, now }),
    signingKeys,
    offlineTokens: createOfflineTokens({ reads, now, signingKeys }),
    limiter,
    pageLimiter,
    audit: createAudit({ reads, lists, changes, secrets, now }),
    failedLogins,
    webhooks: createWebhookAdministration({ reads, changes, now, endpoint: parts.webhooks?.endpoint }),
    keyDirectory: createKeyDirectory({ reads, now }),
    mailAdministration: createMailAdministration({ reads, changes, now, onMailQueued }),
    userDirectory: createUserDirectory({ reads, lists, now }),
  }
}
