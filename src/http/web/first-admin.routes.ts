import { html } from '../../shared/html.ts'
import { type Form, formOf } from './site/elements/fields.ts'
import { NEW_ACCOUNT_FIELDS, namePair, registrantOf } from './site/new-account.ts'
import type { PageParts, PageRoutes } from './site/page-parts.ts'
import type { Redirect } from './site/page-routes.ts'
import type { Page } from './site/shell.ts'

const CLOSED: Redirect = { to: '/console/sign-in', notice: 'admin-exists' }

/** The form that creates the first admin, for the person who started the service on this machine. Its link, with the token, is in the terminal. */
export function firstAdminRoutes({ get, post }: PageRoutes, { site, cookies, firstAdmin, login }: PageParts, token: string): void {
  const everyone = { access: 'public', isLocal: true, queryToken: token, limits: { ip: 'login:ip' } } as const

  get('/first-admin', {
    ...everyone,
    handle: async ({ texts }) => ((await firstAdmin.isOpen()) ? page(formOf(texts, NEW_ACCOUNT_FIELDS)) : CLOSED),
  })

  post('/first-admin', {
    ...everyone,
    asksForPassword: false,
    fields: NEW_ACCOUNT_FIELDS,
    retry: page,
    async handle({ body, request }, reply) {
      const isCreated = await firstAdmin.create(request.origin, registrantOf(body))
      if (!isCreated) return CLOSED
      const result = await login.pages.byPassword(request.origin, body.email, body.password)
      switch (result.kind) {
        case 'session':
          cookies.setSession(reply, result.session)
          return { to: '/console/', notice: 'first-admin-created' }
        case 'second step':
          // A new account has none.
          return { to: '/console/sign-in' }
      }
    },
  })

  function page(form: Form<keyof typeof NEW_ACCOUNT_FIELDS>): Page {
    const content = html`<p>This service has no admin yet. Create one: the link to this page works until there is an admin.</p>
<form class="form" method="post" action="${site.root}/console/first-admin?token=${token}">
${form.problem}${form.field('email', { hasFocus: true })}
${namePair(form)}
${form.field('password')}
<button class="primary">Create admin</button>
</form>`
    return { title: 'Create the first admin', content, isLone: true }
  }
}
