import { type Html, html } from '../../shared/html.ts'
import { wantsHtml } from '../answers/errors.ts'
import { described } from '../answers/replies.ts'
import type { App } from '../pipeline/declarations.ts'
import { createApiRoutes } from '../routes/api-routes.ts'
import { type Static, Type, text } from '../validation/schema.ts'
import { sendPage } from './site/pages.ts'
import { renderPublicPage } from './site/shell.ts'
import type { Site } from './site/site.ts'
import { TEXTS, type Texts } from './texts/texts.ts'

type LandingOptions = { readonly apiTitle: string; readonly version: string; readonly baseUrl: string }

const address = (description: string, path: string) => text(description, `https://accounts.example.com${path}`, { format: 'uri' })

const LandingView = Type.Object(
  {
    name: Type.String({ description: 'The name of this service.', examples: ['Latchkey'] }),
    version: Type.String({ description: 'The version of the service.', examples: ['0.9.1'] }),
    docs: address('The API explorer.', '/docs'),
    redoc: address('The API reference.', '/redoc'),
    openapi: address('The OpenAPI document.', '/openapi.json'),
    heartbeat: address('Returns 200 while the process is running.', '/heartbeat'),
  },
  { title: 'Landing', description: 'The name, the version and the addresses of the service.' },
)

/**
 * The start page, with links to the documentation. `about` is called for each request, because the port in the URL may only be known
 * once the service listens.
 */
export function landingRoutes(app: App, about: () => LandingOptions, site: Site): void {
  const api = createApiRoutes(app, 'Service')
  // Made once: it is the same for everybody who reads a language.
  const pages = new Map(site.languages.map((language) => [language, landingPage(site, TEXTS[language], about().version)]))

  api.get('/', 'landing', {
    config: { access: 'public', writes: false, isStatic: true },
    summary: 'Get the name, the version and the links of the service',
    description: 'Browsers get a page.',
    page: true,
    response: { 200: described(LandingView, 'The name, the version and the links of the service.') },
    handle: async (request, reply) => {
      reply.header('vary', [reply.getHeader('vary') ?? [], 'Accept'].flat().join(', '))
      const page = wantsHtml(request) ? pages.get(site.texts.forVisitor(request).language) : undefined
      return page === undefined ? landingView(about()) : sendPage(site, reply, 200, page)
    },
  })
}

function landingView({ apiTitle: name, version, baseUrl }: LandingOptions): Static<typeof LandingView> {
  const at = (path: string) => `${baseUrl}${path}`
  return { name, version, docs: at('/docs'), redoc: at('/redoc'), openapi: at('/openapi.json'), heartbeat: at('/heartbeat') }
}

/** For the people who have an account here, or want one. Developers find the explorers in one line below. */
function landingPage(site: Site, texts: Texts, version: string): Html {
  const { landing, buttons, navigation } = texts
  const { root, isEnabled, apiTitle } = site
  const link = (path: string) => (text: string) => html`<a href="${root}${path}">${text}</a>`
  const account = html`<p>${landing.text}</p>
<p class="actions"><a class="button primary" href="${root}/account/sign-in">${buttons.signIn}</a><a class="button" href="${root}/account/register">${buttons.register}</a></p>`
  return renderPublicPage(
    site,
    texts,
    landing.title,
    html`${isEnabled.account ? account : html`<p>${landing.about(apiTitle)}</p>`}
<p class="ways">${isEnabled.console ? link('/console/sign-in')(navigation.console) : undefined}<span class="quiet">${landing.version(version)}</span></p>
<p class="hint">${landing.developers({ explorer: link('/docs'), reference: link('/redoc'), document: link('/openapi.json') })}</p>`,
  )
}
