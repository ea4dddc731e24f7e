import { deriveKeys, type Secrets } from '../../../security/derived-keys.ts'
import type { App, PageArea, PageSteps } from '../../pipeline/declarations.ts'
import { accountEmailSignInRoutes } from '../account/email-sign-in.routes.ts'
import { accountHandOffRoutes } from '../account/hand-off.routes.ts'
import { accountInvitationRoutes } from '../account/invitation.routes.ts'
import { accountKeysRoutes } from '../account/keys.routes.ts'
import { accountMailRequestRoutes } from '../account/mail-request.routes.ts'
import { accountPasskeysRoutes } from '../account/passkeys.routes.ts'
import { accountPasswordRoutes } from '../account/password.routes.ts'
import { accountProfileRoutes } from '../account/profile.routes.ts'
import { accountProvidersRoutes } from '../account/providers.routes.ts'
import { accountRegisterRoutes } from '../account/register.routes.ts'
import { accountSecurityRoutes } from '../account/security.routes.ts'
import { accountSessionsRoutes } from '../account/sessions.routes.ts'
import { consoleAuditRoutes } from '../console/audit.routes.ts'
import { consoleInvitationsRoutes } from '../console/invitations.routes.ts'
import { consoleKeysRoutes } from '../console/keys.routes.ts'
import { consoleMailRoutes } from '../console/mail.routes.ts'
import { consoleOverviewRoutes } from '../console/overview.routes.ts'
import { consoleSettingsRoutes } from '../console/settings.routes.ts'
import { consoleStatusRoutes } from '../console/status.routes.ts'
import { consoleUserRoutes } from '../console/user.routes.ts'
import { consoleUserEditRoutes } from '../console/user-edit.routes.ts'
import { consoleUsersRoutes } from '../console/users.routes.ts'
import { consoleWebhooksRoutes } from '../console/webhooks.routes.ts'
import { firstAdminRoutes } from '../first-admin.routes.ts'
import { assetRoutes, createSiteAssets } from './assets.ts'
import { createCookies } from './cookies.ts'
import type { PageParts, PageRoutes, PageServices, PageViews } from './page-parts.ts'
import { createPageRoutes } from './page-routes.ts'
import { createRecentPassword } from './recent-password.ts'
import { requiredFactorRoutes, secondStepRoutes } from './second-factor.routes.ts'
import { signInRoutes } from './sign-in.routes.ts'
import { createSite } from './site.ts'

type WebsiteOptions = Parameters<typeof createSite>[0] &
  PageViews & {
    readonly secrets: Secrets
    /** What the link of the terminal to the form for the first admin contains, where there is one. */
    readonly firstAdminToken: string | undefined
  }

export type Website = ReturnType<typeof createWebsite>

/** The pages, in the order of their navigation. */
const PAGES: Readonly<Record<PageArea, readonly ((pages: PageRoutes, parts: PageParts) => void)[]>> = {
  console: [
    consoleOverviewRoutes,
    consoleUsersRoutes,
    consoleInvitationsRoutes,
    consoleUserRoutes,
    consoleUserEditRoutes,
    consoleKeysRoutes,
    consoleMailRoutes,
    consoleWebhooksRoutes,
    consoleAuditRoutes,
    consoleStatusRoutes,
    consoleSettingsRoutes,
  ],
  account: [
    accountRegisterRoutes,
    accountMailRequestRoutes,
    accountEmailSignInRoutes,
    accountHandOffRoutes,
    accountInvitationRoutes,
    accountProfileRoutes,
    accountPasswordRoutes,
    accountSecurityRoutes,
    accountPasskeysRoutes,
    accountProvidersRoutes,
    accountSessionsRoutes,
    accountKeysRoutes,
  ],
}

/** The console and the account pages: builds what they share, then adds their routes. */
export function createWebsite(options: WebsiteOptions, services: PageServices, now: () => number) {
  const { examine, settings, keptMails, sendTestMail, activity, keyScopes, firstAdminToken } = options
  const languageOfAccount = async (userId: number) => (await services.users.details(userId)).language
  const site = createSite({ ...options, languageOfAccount }, createSiteAssets(options.brand), now)
  const cookies = createCookies({ isSecure: site.isSecure, keys: deriveKeys(options.secrets, 'page-secrets'), now })
  const parts: PageParts = { ...services, examine, settings, keptMails, sendTestMail, activity, keyScopes, site, cookies }
  /** What the pipeline needs for the pages. */
  const steps: PageSteps = { isSecure: site.isSecure, readCookie: cookies.readSession, requireRecentPassword: createRecentPassword(parts) }
  return {
    site,
    cookies,
    steps,
    addRoutes(app: App): void {
      assetRoutes(app, site.assets)
      for (const area of ['console', 'account'] as const) {
        const pages = createPageRoutes(app, parts, area)
        signInRoutes(pages, parts, area)
        secondStepRoutes(pages, parts, area)
        requiredFactorRoutes(pages, parts, area)
        if (area === 'console' && firstAdminToken !== undefined) firstAdminRoutes(pages, parts, firstAdminToken)
        for (const addPages of PAGES[area]) addPages(pages, parts)
      }
    },
  }
}
