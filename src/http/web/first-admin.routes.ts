import type { FirstAdmin } from '../../domain/sign-in/first-admin.service.ts'
import type { Login } from '../../domain/sign-in/login.service.ts'
import { NAME_MAX_LENGTH } from '../../domain/values/limits.ts'
import { html } from '../../shared/html.ts'
import type { App } from '../pipeline/declarations.ts'
import { Email, FirstName, LastName, NewPassword } from '../validation/schema.ts'
import { formProblem, inputField, NO_PROBLEMS, type Problems } from './site/elements/fields.ts'
import { createPageRoutes, type PageParts, type Redirect } from './site/page-routes.ts'
import type { Page } from './site/shell.ts'
import { PASSWORD_HINT } from './site/site.ts'

type FirstAdminParts = PageParts & {
  readonly firstAdmin: FirstAdmin
  readonly login: Login
  /** Contained in the link that the terminal shows. */
  readonly token: string
}

const LABELS = { email: 'Email', first_name: 'First name', last_name: 'Last name', password: 'Password' }
const CLOSED: Redirect = { to: '/console/sign-in', notice: 'admin-exists' }

/** The form that creates the first admin, for the person who started the service on this machine. */
export function firstAdminRoutes(app: App, parts: FirstAdminParts): void {
  const { site, cookies, firstAdmin, login, token } = parts
  const { get, post } = createPageRoutes(app, parts, 'console')
  const everyone = { access: 'public', isLocal: true, queryToken: token, limits: { ip: 'login:ip' } } as const

  get('/first-admin', everyone, async () => ((await firstAdmin.isOpen()) ? form(NO_PROBLEMS, {}) : CLOSED))

  post(
    '/first-admin',
    {
      ...everyone,
      asksForPassword: false,
      body: { email: Email, first_name: FirstName, last_name: LastName, password: NewPassword },
      labels: LABELS,
      retry: form,
    },
    async ({ body, request, reply }) => {
      const { email, first_name: firstName, last_name: lastName, password } = body
      const isCreated = await firstAdmin.create(request.origin, { email, firstName, lastName, password })
      if (!isCreated) return CLOSED
      const result = await login.signIn(request.origin, email, password)
      switch (result.kind) {
        case 'session':
          cookies.setSession(reply, result.session)
          return { to: '/console/', notice: 'first-admin-created' }
      }
    },
  )

  function form(problems: Problems, values: Readonly<Record<string, string>>): Page {
    const field = (name: keyof typeof LABELS) => ({ name, label: LABELS[name], value: values[name] })
    const name = (which: 'first_name' | 'last_name', autocomplete: string) =>
      inputField({ ...field(which), autocomplete, maxLength: NAME_MAX_LENGTH }, problems)
    const content = html`<p>This service has no admin yet. Create one: the link to this page works until there is an admin.</p>
<form class="form" method="post" action="${site.root}/console/first-admin?token=${token}">
${formProblem(problems)}${inputField({ ...field('email'), type: 'email', autocomplete: 'username', hasFocus: true }, problems)}
<div class="pair">${name('first_name', 'given-name')}
${name('last_name', 'family-name')}</div>
${inputField({ ...field('password'), value: undefined, type: 'password', autocomplete: 'new-password', hint: PASSWORD_HINT }, problems)}
<button class="primary">Create admin</button>
</form>`
    return { title: 'Create the first admin', content, isLone: true }
  }
}
