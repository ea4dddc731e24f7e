import type { Audit } from '../../../domain/audit/audit.service.ts'
import type { Authentication } from '../../../domain/identity/authentication.service.ts'
import type { KeyDirectory } from '../../../domain/keys/key-use.ts'
import type { ApiKeys } from '../../../domain/keys/keys.service.ts'
import type { LeakedKeys } from '../../../domain/keys/leaked-keys.service.ts'
import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { MailAdministration, TestResult } from '../../../domain/mail/mail-administration.service.ts'
import type { ActivityLog } from '../../../domain/operations/activity.ts'
import type { AccountPlans } from '../../../domain/plans/plans.service.ts'
import type { Usage } from '../../../domain/plans/usage.service.ts'
import type { Sessions } from '../../../domain/sessions/sessions.service.ts'
import type { EmailSignIn } from '../../../domain/sign-in/email-sign-in.service.ts'
import type { FirstAdmin } from '../../../domain/sign-in/first-admin.service.ts'
import type { HandOffs } from '../../../domain/sign-in/hand-off.service.ts'
import type { InvitationAcceptance } from '../../../domain/sign-in/invitation-acceptance.service.ts'
import type { Login } from '../../../domain/sign-in/login.service.ts'
import type { OwnAccount } from '../../../domain/sign-in/own-account.service.ts'
import type { Passkeys } from '../../../domain/sign-in/passkeys.service.ts'
import type { PasswordReset } from '../../../domain/sign-in/password-reset.service.ts'
import type { Providers } from '../../../domain/sign-in/providers.service.ts'
import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import type { SecondFactor } from '../../../domain/sign-in/second-factor.service.ts'
import type { Invitations } from '../../../domain/users/invitations.service.ts'
import type { UserAdministration } from '../../../domain/users/user-administration.service.ts'
import type { ProductData } from '../../../domain/users/user-data.service.ts'
import type { UserDirectory } from '../../../domain/users/user-directory.service.ts'
import type { Users } from '../../../domain/users/users.service.ts'
import type { WebhookAdministration } from '../../../domain/webhooks/webhook-administration.service.ts'
import type { KeptMails } from '../../../model/mail.ts'
import type { Cookies } from './cookies.ts'
import type { createPageRoutes } from './page-routes.ts'
import type { Site } from './site.ts'

/** The services that pages call: the same rules as those of the API. */
export type PageServices = {
  readonly apiKeys: ApiKeys
  readonly audit: Audit
  readonly authentication: Authentication
  readonly emailSignIn: EmailSignIn
  readonly firstAdmin: FirstAdmin
  readonly handOffs: HandOffs
  readonly invitationAcceptance: InvitationAcceptance
  readonly invitations: Invitations
  readonly keyDirectory: KeyDirectory
  readonly leakedKeys: LeakedKeys
  readonly limiter: Limiter
  readonly login: Login
  readonly mailAdministration: MailAdministration
  /** The limits of the sign-in pages. */
  readonly pageLimiter: Limiter
  /** Undefined where browsers accept none for the address of the service. */
  readonly passkeys: Passkeys | undefined
  readonly passwordReset: PasswordReset
  /** Undefined without PLANS. */
  readonly plans: AccountPlans | undefined
  readonly productData: ProductData
  readonly providers: Providers
  readonly registration: Registration
  readonly secondFactor: SecondFactor
  readonly ownAccount: OwnAccount
  readonly sessions: Sessions
  readonly usage: Usage
  readonly userAdministration: UserAdministration
  readonly userDirectory: UserDirectory
  readonly users: Users
  readonly webhooks: WebhookAdministration
}

/** What a check of `latchkey doctor` found. */
type CheckResult = {
  readonly check: string
  readonly verdict: 'ok' | 'warning' | 'error'
  readonly message: string
  readonly advice?: string
}

/** A setting as admins see it. A secret has no value here, only whether it is set and, if it is a URL, its host. */
export type SettingView = {
  readonly name: string
  readonly value: string | undefined
  readonly isSecret: boolean
  readonly isSet: boolean
  readonly group: string
  /** One line of Markdown. */
  readonly meaning: string
}

/** What the console shows that no service provides. */
export type PageViews = {
  /** The results of the last checks, and when they were made. Undefined while the first ones run. */
  readonly examine: () => Promise<{ readonly at: number; readonly findings: readonly CheckResult[] } | undefined>
  readonly settings: readonly SettingView[]
  /** The mails that are kept as files; undefined where a mail server sends them. */
  readonly keptMails: KeptMails | undefined
  /** Sends a test mail at once. Undefined where nothing sends mails. */
  readonly sendTestMail: ((to: string) => Promise<TestResult>) | undefined
  readonly activity: Pick<ActivityLog, 'lastDay'>
  /** The scopes that new keys may have; undefined where the settings list none. */
  readonly keyScopes: readonly string[] | undefined
}

/** Declares the pages of one area. */
export type PageRoutes = ReturnType<typeof createPageRoutes>

/** What every page gets. */
export type PageParts = PageServices & PageViews & { readonly site: Site; readonly cookies: Cookies }
