import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import { NAME_MAX_LENGTH } from '../../../domain/values/limits.ts'
import { html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Email, FirstName, LastName, NewPassword } from '../../validation/schema.ts'
import { formProblem, inputField, NO_PROBLEMS, type Problems } from '../site/elements/fields.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import { PASSWORD_HINT, toFrontend } from '../site/site.ts'

export type RegisterParts = PageParts & { readonly registration: Registration; readonly limiter: Limiter }

const LABELS = { first_name: 'First name', last_name: 'Last name', email: 'Email', password: 'Password' }

/** Creating an account. Its owner verifies the address with a link before signing in. */
export function accountRegisterRoutes(app: App, parts: RegisterParts): void {
  const { site, registration, limiter } = parts
  const { get, post } = createPageRoutes(app, parts, 'account')

  get('/register', { access: 'public' }, () => form(NO_PROBLEMS, {}))

  post(
    '/register',
    {
      asksForPassword: false,
      access: 'public',
      body: { first_name: FirstName, last_name: LastName, email: Email, password: NewPassword },
      labels: LABELS,
      retry: form,
    },
    async ({ body, request }) => {
      await limiter.countAddress('register:ip', request.origin.ip)
      await registration.signUp(request.origin, {
        email: body.email,
        password: body.password,
        firstName: body.first_name,
        lastName: body.last_name,
      })
      return donePage(body.email)
    },
  )

  function form(problems: Problems, values: Readonly<Record<string, string>>): Page {
    const name = { maxLength: NAME_MAX_LENGTH }
    const content = html`${formProblem(problems)}<form class="form" method="post" action="${site.root}/account/register">
<div class="pair">${inputField({ name: 'first_name', label: LABELS.first_name, autocomplete: 'given-name', value: values['first_name'], hasFocus: true, ...name }, problems)}
${inputField({ name: 'last_name', label: LABELS.last_name, autocomplete: 'family-name', value: values['last_name'], ...name }, problems)}</div>
${inputField({ name: 'email', label: LABELS.email, type: 'email', autocomplete: 'username', value: values['email'] }, problems)}
${inputField({ name: 'password', label: LABELS.password, type: 'password', autocomplete: 'new-password', hint: PASSWORD_HINT }, problems)}
<button class="primary">Create account</button>
</form>
<p class="ways"><span>Already have an account? <a href="${site.root}/account/sign-in">Sign in</a></span></p>`
    return { title: 'Create an account', content, isLone: true }
  }

  function donePage(email: string): Page {
    const content = html`<p class="notice good" role="status">Your account has been created.</p>
<p>We have sent an email to <strong>${email}</strong>. Open the link in it within 24 hours to verify your address, then sign in.</p>
<div class="actions">${toFrontend(site) ?? html`<a class="button primary" href="${site.root}/account/sign-in">Sign in</a>`}<a class="button" href="${site.root}/account/resend-verification">No email?</a></div>`
    return { title: 'Check your email', content, isLone: true }
  }
}
