import type { FastifyRequest } from 'fastify'
import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { FirstAdmin } from '../../../domain/sign-in/first-admin.service.ts'
import type { Login } from '../../../domain/sign-in/login.service.ts'
import { deriveKeys, type Secrets } from '../../../security/derived-keys.ts'
import { type Html, html } from '../../../shared/html.ts'
import { COMMAND } from '../../../shared/program.ts'
import type { App, PageArea, PageSteps } from '../../pipeline/declarations.ts'
import { isLocalClient } from '../../pipeline/reachability.ts'
import { type AccountParts, accountRoutes } from '../account/account.routes.ts'
import { type ConsoleServices, type ConsoleViews, consoleRoutes } from '../console/console.routes.ts'
import { firstAdminRoutes } from '../first-admin.routes.ts'
import { assetRoutes, createSiteAssets } from './assets.ts'
import { createCookies, createSecretFlash } from './cookies.ts'
import { createPageErrors } from './page-errors.ts'
import { type PageParts, sendSitePage } from './page-routes.ts'
import { createRecentPassword } from './recent-password.ts'
import { signInRoutes } from './sign-in.routes.ts'
import { createSite, type Site, type SiteOptions } from './site.ts'

/** The services that pages call: the same rules as those of the API. */
type WebsiteServices = ConsoleServices &
  Omit<AccountParts, keyof PageParts | 'secretFlash'> & {
    readonly login: Login
    readonly firstAdmin: FirstAdmin
    readonly pageLimiter: Limiter
  }

type WebsiteOptions = SiteOptions &
  ConsoleViews & {
    readonly secrets: Secrets
    /** What the link of the terminal to the form for the first admin contains, where there is one. */
    readonly firstAdminToken: string | undefined
  }

export type Website = {
  readonly site: Site
  /** What the pipeline needs for the pages. */
  readonly steps: PageSteps
  addRoutes(app: App): void
}

/** The console and the account pages: builds what they share, then adds their routes. */
export function createWebsite(options: WebsiteOptions, services: WebsiteServices, now: () => number): Website {
  const site = createSite(options, createSiteAssets(options.brand), now)
  const cookies = createCookies(site)
  const { login, pageLimiter, userDirectory, firstAdmin } = services
  const parts = { site, cookies, errors: createPageErrors(site, cookies, sendSitePage), ...services }

  /** Without an admin, nobody can sign in to the console. */
  async function firstSteps(area: PageArea, request: FastifyRequest): Promise<Html | undefined> {
    if (area !== 'console' || (await userDirectory.hasAdmin())) return undefined
    const hasForm = isLocalClient(request) && (await firstAdmin.isOpen())
    const ways = hasForm
      ? 'Create one with the link that the terminal of this service shows, or with this command:'
      : 'Create one in a terminal, on the machine of this service:'
    return html`<div class="notice warn"><p>There is no admin yet. ${ways}</p></div>
<pre tabindex="0">${unbroken(`${COMMAND} user create --admin --email you@example.com --first-name You --last-name Admin`)}</pre>\n`
  }

  return {
    site,
    steps: {
      isSecure: site.isSecure,
      readCookie: cookies.readSession,
      requireRecentPassword: createRecentPassword({ site, login, limiter: pageLimiter, cookies }),
    },
    addRoutes(app) {
      assetRoutes(app, site.assets)
      for (const area of ['console', 'account'] as const) signInRoutes(app, { ...parts, firstSteps }, area)
      const { firstAdminToken, examine, settings, keptMails, activity } = options
      if (firstAdminToken !== undefined) firstAdminRoutes(app, { ...parts, token: firstAdminToken })
      consoleRoutes(app, { ...parts, examine, settings, keptMails, activity })
      const secretFlash = createSecretFlash(deriveKeys(options.secrets, 'page-secrets'), cookies, now)
      accountRoutes(app, { ...parts, secretFlash })
    },
  }
}

/** A command in lines that never end within a word: browsers break after a hyphen. */
function unbroken(command: string): Html {
  const [first = '', ...others] = command.split(' ').map((word) => html`<span class="nowrap">${word}</span>`)
  return others.reduce((line, word) => html`${line} ${word}`, html`${first}`)
}
