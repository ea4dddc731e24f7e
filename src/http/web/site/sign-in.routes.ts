import type { FastifyRequest } from 'fastify'
import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { Login } from '../../../domain/sign-in/login.service.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { App, PageArea } from '../../pipeline/declarations.ts'
import { Email, GivenPassword, Type } from '../../validation/schema.ts'
import { formProblem, inputField, NO_PROBLEMS, type Problems } from './elements/fields.ts'
import { createPageRoutes, type PageParts } from './page-routes.ts'
import { CONFIRM_PATH } from './recent-password.ts'
import type { Page } from './shell.ts'
import { returnPath } from './site.ts'

type SignInParts = PageParts & {
  readonly login: Login
  /** The limits of the sign-in pages. */
  readonly pageLimiter: Limiter
  /** Says what to do where nobody can sign in yet; undefined where somebody can. */
  readonly firstSteps: (area: PageArea, request: FastifyRequest) => Promise<Html | undefined>
}

const Next = Type.Optional(Type.String({ maxLength: 2000 }))
const LABELS = { email: 'Email', password: 'Password' }
const TITLES: Readonly<Record<PageArea, string>> = { console: 'Sign in to the console', account: 'Sign in' }

/** Signing in and out, for both areas: one cookie opens both. */
export function signInRoutes(app: App, parts: SignInParts, area: PageArea): void {
  const { site, cookies, login, pageLimiter } = parts
  const { get, post } = createPageRoutes(app, parts, area)

  get('/sign-in', { access: 'public', query: { next: Next } }, ({ query, request }) =>
    form(NO_PROBLEMS, { next: query.next ?? '' }, request),
  )

  post(
    '/sign-in',
    {
      asksForPassword: false,
      access: 'public',
      body: { email: Email, password: GivenPassword, next: Next },
      limits: { ip: 'login:ip', account: 'login:account' },
      labels: LABELS,
      retry: form,
    },
    async ({ body, request, reply }) => {
      const { origin, places } = request
      const result = await pageLimiter.settle(places, body.email, origin, () => login.signIn(origin, body.email, body.password))
      switch (result.kind) {
        case 'session':
          cookies.setSession(reply, result.session)
          return { to: returnPath(body.next, area) }
      }
    },
  )

  // A page that is only read cannot take a password: the question there leads here, and from here back.
  const question = { to: 'open this page', cancel: `/${area}/` }
  post(CONFIRM_PATH, { asksForPassword: question, body: { next: Next } }, ({ body }) => ({
    to: returnPath(body.next, area),
  }))

  // For every user: also one who may not see the console must be able to leave it.
  post('/sign-out', { asksForPassword: false, access: 'user' }, async ({ actor, reply }) => {
    await login.logout(actor)
    cookies.clearSession(reply)
    return { to: `/${area}/sign-in`, notice: 'signed-out' }
  })

  async function form(problems: Problems, values: Readonly<Record<string, string>>, request: FastifyRequest): Promise<Page> {
    const { root, isEnabled } = site
    const firstSteps = await parts.firstSteps(area, request)
    const content = html`${formProblem(problems)}${firstSteps}<form class="form" method="post" action="${root}/${area}/sign-in">
<input type="hidden" name="next" value="${returnPath(values['next'], area)}">
${inputField({ name: 'email', label: LABELS.email, type: 'email', autocomplete: 'username', value: values['email'], hasFocus: !values['email'] && firstSteps === undefined }, problems)}
${inputField({ name: 'password', label: LABELS.password, type: 'password', autocomplete: 'current-password', hasFocus: Boolean(values['email']) }, problems)}
<button${firstSteps === undefined ? html` class="primary"` : ''}>Sign in</button>
</form>${isEnabled.account ? accountLinks(root, area) : ''}`
    return { title: TITLES[area], content, isLone: true }
  }
}

function accountLinks(root: string, area: PageArea): Html {
  const register = area === 'account' ? html`<a href="${root}/account/register">Create an account</a>` : ''
  return html`\n<p class="ways">${register}<a href="${root}/account/forgot-password">Forgot your password?</a><a href="${root}/account/resend-verification">No verification email?</a></p>`
}
