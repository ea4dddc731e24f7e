import type { Config } from './config/load.ts'
import { createAudit } from './domain/audit/audit.service.ts'
import { createFailedLogins } from './domain/audit/failed-logins.ts'
import { createChanges, type FollowUp } from './domain/changes/changes.ts'
import { createFollowUps } from './domain/changes/follow-ups.ts'
import { createAuthentication } from './domain/identity/authentication.service.ts'
import { createIntrospection } from './domain/identity/introspection.service.ts'
import { createOfflineTokens } from './domain/identity/offline-tokens.service.ts'
import { createSigningKeys } from './domain/identity/signing-keys.ts'
import { createKeyDirectory, createKeyUse } from './domain/keys/key-use.ts'
import { createApiKeys } from './domain/keys/keys.service.ts'
import { createLeakedKeys } from './domain/keys/leaked-keys.service.ts'
import { createKnownNetworks } from './domain/limits/known-networks.ts'
import { createLimiter } from './domain/limits/rate-limits.service.ts'
import { createMailAdministration } from './domain/mail/mail-administration.service.ts'
import { isNoticed, noticeRecoveryCode } from './domain/mail/security-notices.ts'
import { NO_OBSERVER, type Observer } from './domain/operations/observer.ts'
import { createCounting } from './domain/plans/counting.ts'
import { createAccountPlans, createMetering } from './domain/plans/plans.service.ts'
import { createKeyUseCounts, createUsage } from './domain/plans/usage.service.ts'
import { createSessionUse } from './domain/sessions/session-use.ts'
import { createSessions } from './domain/sessions/sessions.service.ts'
import { createEmailSignIn } from './domain/sign-in/email-sign-in.service.ts'
import { createFirstAdmin } from './domain/sign-in/first-admin.service.ts'
import { createHandOffs } from './domain/sign-in/hand-off.service.ts'
import { createInvitationAcceptance } from './domain/sign-in/invitation-acceptance.service.ts'
import { createLogin } from './domain/sign-in/login.service.ts'
import { createOwnAccount } from './domain/sign-in/own-account.service.ts'
import { createPasskeys } from './domain/sign-in/passkeys.service.ts'
import { createPasswordProof } from './domain/sign-in/password-proof.ts'
import { createPasswordReset } from './domain/sign-in/password-reset.service.ts'
import { createProviders } from './domain/sign-in/providers.service.ts'
import { createRegistration } from './domain/sign-in/registration.service.ts'
import { createSecondFactor } from './domain/sign-in/second-factor.service.ts'
import { createWayInRule } from './domain/sign-in/way-in-rule.ts'
import { createEmailChanges } from './domain/users/email-changes.service.ts'
import { createInvitations } from './domain/users/invitations.service.ts'
import { createUserAdministration } from './domain/users/user-administration.service.ts'
import { createProductData } from './domain/users/user-data.service.ts'
import { createUserDirectory } from './domain/users/user-directory.service.ts'
import { createUsers } from './domain/users/users.service.ts'
import { CODE_LIMITS, PAGE_LIMITS } from './domain/values/rate-limits.ts'
import { createWebhookAdministration } from './domain/webhooks/webhook-administration.service.ts'
import type { Origin } from './model/caller.ts'
import type { Event } from './model/event.ts'
import { createChallenges } from './security/challenges.ts'
import { createLimitKeys, type Secrets } from './security/derived-keys.ts'
import { createPasswords, type Passwords } from './security/password.ts'
import { createProviderClient } from './security/providers/provider-client.ts'
import { createTokens } from './security/token.ts'
import { createTotpSealer } from './security/totp.ts'
import { isLocalService } from './shared/addresses.ts'
import { lazily, once } from './shared/lazily.ts'
import { type Database, readsOf } from './storage/database.ts'

type ServiceSettings = Pick<
  Config,
  | 'keyPrefix'
  | 'keyScopes'
  | 'plans'
  | 'rateLimits'
  | 'securityNotices'
  | 'webhook'
  | 'consoleEnabled'
  | 'host'
  | 'baseUrl'
  | 'apiTitle'
  | 'relyingParty'
  | 'secondFactor'
  | 'providers'
  | 'emailSignIn'
  | 'languages'
>

/** The dependencies of the services. Tests pass a clock that they control. */
export type Parts = {
  readonly db: Database
  /** Called by the first service that needs them: a command that changes nothing works without a secret key, and creates none. */
  readonly secrets: () => Secrets
  readonly now: () => number
  readonly passwords?: Passwords | undefined
  readonly observer?: Observer | undefined
  readonly onMailQueued?: (() => void) | undefined
  /** What is written together with each change. Benchmarks and rehearsals leave it out. */
  readonly followUps?: readonly FollowUp[] | undefined
  /** Contained in the link of the terminal, with which a browser on this machine creates the first admin. */
  readonly firstAdminToken?: string | undefined
  /** Called after the commit with each security-relevant change. */
  readonly onEvent?: ((event: Event) => void) | undefined
}

export type Services = ReturnType<typeof createServices>

/**
 * Creates the services: the same for the server, its background work, its start and the command line. Each is created when it is first
 * used, and once.
 */
export function createServices(settings: ServiceSettings, parts: Parts) {
  const { db, now, secrets, firstAdminToken, observer = NO_OBSERVER, onMailQueued = () => undefined, onEvent = () => undefined } = parts
  const { keyPrefix, keyScopes, rateLimits: limits, securityNotices, webhook: webhooks, consoleEnabled } = settings
  const reads = readsOf(db)
  const lists = readsOf(db.lists)
  const changes = createChanges({
    db,
    now,
    followUps: once(() => parts.followUps ?? createFollowUps({ secrets: secrets(), webhooks, securityNotices })),
    onEvent(event) {
      observer.recorded(event.kind)
      onEvent(event)
      if (securityNotices && isNoticed(event)) onMailQueued()
    },
  })
  const common = { reads, lists, changes, observer, now, onMailQueued, languages: settings.languages }
  const tokens = once(() => createTokens(secrets(), now))
  const passwords = once(() => parts.passwords ?? createPasswords())
  const signing = () => ({ ...common, tokens: tokens(), passwords: passwords() })
  const signingKeys = once(() => createSigningKeys({ reads, changes, now, secrets: secrets() }))
  const sessionUse = once(() => createSessionUse(db, now))
  const counting = once(() => createCounting(db, now))
  const keyUse = once(() => createKeyUseCounts(db, now))
  const failedLogins = once(() => createFailedLogins(changes, now))
  const proof = once(() => createPasswordProof({ ...common, passwords: passwords(), noteFailedLogin: failedLogins().note }))
  const totpSealer = once(() => createTotpSealer(secrets()))
  const secondFactor = once(() => createSecondFactor({ ...common, totpSealer: totpSealer(), issuer: settings.apiTitle }))
  const wayInRule = createWayInRule({
    providers: settings.providers,
    hasPasskeys: settings.relyingParty !== undefined,
    hasEmailSignIn: settings.emailSignIn,
  })
  const passkeys = once(() => {
    const { relyingParty } = settings
    const noteFailure = (userId: number, origin: Origin) => failedLogins().note(userId, origin, 'factor.failed')
    return relyingParty && createPasskeys({ ...common, challenges: createChallenges(secrets(), now), relyingParty, wayInRule, noteFailure })
  })
  const invitations = once(() => createInvitations({ ...common, tokens: tokens() }))
  const emailSignIn = once(() => createEmailSignIn({ ...common, tokens: tokens() }))
  const providers = once(() => {
    // A client keeps the metadata of its provider.
    const clients = settings.providers.map((provider) => ({
      name: provider.name,
      label: provider.label,
      client: createProviderClient(provider, { fetch: globalThis.fetch, now }),
    }))
    return createProviders({ ...common, providers: clients, wayInRule })
  })
  const keyOf = once(() => createLimitKeys(secrets()))
  const known = once(() => createKnownNetworks({ db, keyOf: keyOf(), now }))
  const rule = once(() => ({ limits, keyOf: keyOf() }))
  const pageRule = { limits: PAGE_LIMITS, keyOf: (...names: readonly string[]) => keyOf()('pages', ...names) }
  const limiter = once(() => createLimiter({ db, rules: [rule()], known: known(), observer, now }))
  const codeLimiter = once(() => createLimiter({ db, rules: [{ limits: CODE_LIMITS, keyOf: keyOf() }], known: known(), observer, now }))
  // Guesses on the pages count for the limits of the settings too: those could otherwise be avoided by signing in there.
  const pageLimiter = once(() => createLimiter({ db, rules: [pageRule, rule()], known: known(), observer, now }))

  const users = once(() => createUsers({ ...signing(), limiter: limiter() }))

  return lazily({
    // The dependencies, for work that is no service: an import, the background work.
    reads: () => reads,
    lists: () => lists,
    changes: () => changes,
    now: () => now,
    tokens,
    passwords,
    totpSealer,
    sessionUse,
    authentication: () =>
      createAuthentication({ ...common, tokens: tokens(), recordKeyUse: createKeyUse(db, now), noteSessionUse: sessionUse().note }),
    registration: () => createRegistration(signing()),
    firstAdmin: () =>
      createFirstAdmin({
        ...common,
        passwords: passwords(),
        token: consoleEnabled && isLocalService(settings) ? firstAdminToken : undefined,
      }),
    login: () =>
      createLogin({
        ...signing(),
        proof: proof(),
        secondFactor: secondFactor(),
        passkeys: passkeys(),
        emailSignIn: emailSignIn(),
        codeLimiter: codeLimiter(),
        limiter: limiter(),
        noteFailure: failedLogins().note,
        noticeRecovery: async (tx, userId) => {
          if (securityNotices) await noticeRecoveryCode(tx, userId, now())
          return securityNotices
        },
      }),
    secondFactor,
    /** Undefined where browsers accept none: see relyingParty. */
    passkeys,
    emailSignIn,
    handOffs: () => createHandOffs({ ...common, tokens: tokens() }),
    providers,
    passwordReset: () => createPasswordReset(signing()),
    invitations,
    invitationAcceptance: () => createInvitationAcceptance({ ...signing(), invitations: invitations(), passkeys: passkeys() }),
    users,
    ownAccount: () => createOwnAccount({ ...common, proof: proof(), users: users() }),
    emailChanges: () => createEmailChanges({ ...common, tokens: tokens() }),
    userAdministration: () => createUserAdministration(common),
    userDirectory: () => createUserDirectory(common),
    productData: () => createProductData(common),
    sessions: () => createSessions(common),
    apiKeys: () => createApiKeys({ ...common, keyPrefix, keyScopes }),
    /** Undefined without PLANS. */
    plans: () => settings.plans && createAccountPlans(common, settings.plans),
    metering: () => createMetering({ plans: settings.plans, counting: counting(), use: keyUse(), observer }),
    counting,
    keyUse,
    usage: () => createUsage(common),
    keyDirectory: () => createKeyDirectory(common),
    leakedKeys: () => createLeakedKeys(common),
    introspection: () => createIntrospection({ ...common, tokens: tokens(), rule: settings.secondFactor }),
    signingKeys,
    offlineTokens: () => createOfflineTokens({ reads, now, signingKeys: signingKeys() }),
    limiter,
    /** The limits of the sign-in pages. They count apart from those of the API. */
    pageLimiter,
    audit: () => createAudit({ ...common, secrets: secrets() }),
    failedLogins,
    webhooks: () => createWebhookAdministration({ ...common, endpoint: webhooks?.endpoint }),
    mailAdministration: () => createMailAdministration(common),
  })
}
