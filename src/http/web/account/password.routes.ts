import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { Login } from '../../../domain/sign-in/login.service.ts'
import type { Users } from '../../../domain/users/users.service.ts'
import { Refusal } from '../../../model/refusal.ts'
import { html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/declarations.ts'
import { GivenPassword, NewPassword } from '../../validation/schema.ts'
import { InvalidRequest } from '../../validation/validation-error.ts'
import { formProblem, inputField, NO_PROBLEMS, type Problems } from '../site/elements/fields.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import { PASSWORD_HINT } from '../site/site.ts'

export type PasswordParts = PageParts & { readonly users: Users; readonly login: Login; readonly pageLimiter: Limiter }

const LABELS = { current_password: 'Current password', new_password: 'New password', confirm_password: 'Confirm new password' }
const DIFFERENT = { loc: ['body', 'confirm_password'], type: 'value_error', msg: 'Value error, The two passwords are not the same' }
const WRONG = { loc: ['body', 'current_password'], type: 'value_error', msg: 'Value error, This is not your current password' }

/** Changing the password, which needs the current one. */
export function accountPasswordRoutes(app: App, parts: PasswordParts): void {
  const { site, cookies, users, login, pageLimiter } = parts
  const { get, post } = createPageRoutes(app, parts, 'account')

  get('/password', {}, () => form(NO_PROBLEMS))

  post(
    '/password',
    {
      asksForPassword: 'in-form',
      body: { current_password: GivenPassword, new_password: NewPassword, confirm_password: GivenPassword },
      labels: LABELS,
      retry: form,
    },
    async ({ body, actor, reply }) => {
      if (body.confirm_password !== body.new_password) throw new InvalidRequest([DIFFERENT])
      // Guesses count like those of signing in.
      const confirm = () => login.confirmPassword(actor, body.current_password)
      await pageLimiter.attempt(actor.caller.user.email, actor.origin, confirm).catch(asFieldProblem)
      // The session is replaced: a copy of the cookie ends with the password that it was opened with.
      cookies.setSession(reply, await users.changeOwnPassword(actor, body.new_password))
      return { to: '/account/password', notice: 'password-changed' }
    },
  )

  function form(problems: Problems): Page {
    const field = (name: keyof typeof LABELS, autocomplete: string, hint?: string) =>
      inputField({ name, label: LABELS[name], type: 'password', autocomplete, hint }, problems)
    const content = html`<section class="card split" aria-labelledby="password"><header><h2 id="password">Change your password</h2>
<p class="quiet">This ends all your other sessions. API keys keep working.</p></header>
<form class="form" method="post" action="${site.root}/account/password">
${formProblem(problems)}${field('current_password', 'current-password')}
${field('new_password', 'new-password', PASSWORD_HINT)}
${field('confirm_password', 'new-password')}
<div class="actions"><button class="primary">Change password</button></div>
</form></section>`
    return { title: 'Password', content }
  }
}

/** Here the password is wrong, and not the address as well. */
function asFieldProblem(error: unknown): never {
  throw error instanceof Refusal && error.code === 'wrong_credentials' ? new InvalidRequest([WRONG]) : error
}
