import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import { NAME_MAX_LENGTH } from '../../../domain/values/limits.ts'
import { html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/app-type.ts'
import { Email, FirstName, LastName, NewPassword } from '../../validation/fields.ts'
import { formProblem, inputField, NO_PROBLEMS, type Problems } from '../site/elements/fields.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'

export type NewUserParts = PageParts & { readonly registration: Registration }

const LABELS = { email: 'Email', first_name: 'First name', last_name: 'Last name', password: 'Password' }

/** A new account, which is verified at once. */
export function consoleNewUserRoutes(app: App, parts: NewUserParts): void {
  const { get, post } = createPageRoutes(app, parts, 'console')

  get('/users/new', {}, () => form(NO_PROBLEMS, {}))

  post(
    '/users/new',
    {
      asksForPassword: false,
      body: { email: Email, first_name: FirstName, last_name: LastName, password: NewPassword },
      labels: LABELS,
      retry: form,
    },
    async ({ body, actor }) => {
      const { email, first_name: firstName, last_name: lastName, password } = body
      const id = await parts.registration.create(actor, { email, firstName, lastName, password }, 'user')
      return { to: `/console/users/${id}`, notice: 'user-created' }
    },
  )

  function form(problems: Problems, values: Readonly<Record<string, string>>): Page {
    const field = (name: keyof typeof LABELS) => ({ name, label: LABELS[name], value: values[name] })
    const content = html`<section class="card split" aria-labelledby="new"><header><h2 id="new">A verified account</h2>
<p class="quiet">The user can sign in at once. To let the user choose the password, create the account, then send a password reset.</p></header>
<form class="form" method="post" action="${parts.site.root}/console/users/new">
${formProblem(problems)}${inputField({ ...field('email'), type: 'email', hasFocus: true }, problems)}
<div class="pair">${inputField({ ...field('first_name'), maxLength: NAME_MAX_LENGTH }, problems)}
${inputField({ ...field('last_name'), maxLength: NAME_MAX_LENGTH }, problems)}</div>
${inputField({ ...field('password'), type: 'password', autocomplete: 'new-password', hint: 'At least 8 characters.' }, problems)}
<div class="actions"><button class="primary">Create user</button><a class="button" href="${parts.site.root}/console/users">Cancel</a></div>
</form></section>`
    return { title: 'New user', content, back: { path: '/console/users', text: 'Users' } }
  }
}
