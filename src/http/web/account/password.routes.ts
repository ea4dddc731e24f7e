import { Refusal } from '../../../model/refusal.ts'
import { type Html, html } from '../../../shared/html.ts'
import { GivenPassword, NewPassword } from '../../validation/schema.ts'
import { splitCard } from '../site/elements/cards.ts'
import { invalidField } from '../site/elements/fields.ts'
import { PASSWORD_HINT } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Site } from '../site/site.ts'

const NEW = { type: 'password', autocomplete: 'new-password' } as const
const FIELDS = {
  current_password: { schema: GivenPassword, label: 'Current password', type: 'password', autocomplete: 'current-password' },
  new_password: { ...NEW, schema: NewPassword, label: 'New password', hint: PASSWORD_HINT },
  confirm_password: { ...NEW, schema: GivenPassword, label: 'Confirm new password' },
} as const

/** Changing the password, which needs the current one. */
export function accountPasswordRoutes({ form }: PageRoutes, { site, cookies, users, login, pageLimiter, secondFactor }: PageParts): void {
  form('/password', {
    title: 'Password',
    asksForPassword: 'in-form',
    fields: FIELDS,
    async show({ problem, field }, { caller }) {
      const { hasPassword } = await secondFactor.status(caller.user.id)
      if (!hasPassword) return noPasswordCard(site)
      return splitCard({
        id: 'password',
        title: 'Change your password',
        text: 'This ends all your other sessions. API keys keep working.',
        content: html`<form class="form" method="post" action="${site.root}/account/password">
${problem}${field('current_password')}
${field('new_password')}
${field('confirm_password')}
<div class="actions"><button class="primary">Change password</button></div>
</form>`,
      })
    },
    async submit({ body, actor }, reply) {
      if (body.confirm_password !== body.new_password) throw invalidField('confirm_password', 'The two passwords are not the same')
      // Guesses count like those of signing in.
      await login.confirm(actor, { password: body.current_password }, pageLimiter).catch(asFieldProblem)
      // The session is replaced: a copy of the cookie ends with the password that it was opened with.
      cookies.setSession(reply, await users.changeOwnPassword(actor, body.new_password))
      return { to: '/account/password', notice: 'password-changed' }
    },
  })
}

/** A mail shows that the address still belongs to the owner of the account. */
function noPasswordCard({ root }: Site): Html {
  return splitCard({
    id: 'password',
    title: 'Your account has no password',
    text: 'You sign in another way. To have a password as well, request an email with a link, and choose one there.',
    content: html`<div class="form"><div class="actions"><a class="button primary" href="${root}/account/forgot-password">Request an email</a></div></div>`,
  })
}

/** Here the password is wrong, and not the address as well. */
function asFieldProblem(error: unknown): never {
  const isWrong = error instanceof Refusal && error.code === 'wrong_credentials'
  throw isWrong ? invalidField('current_password', 'This is not your current password') : error
}
