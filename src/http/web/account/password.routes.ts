import { Refusal } from '../../../model/refusal.ts'
import { type Html, html } from '../../../shared/html.ts'
import { GivenPassword, NewPassword } from '../../validation/schema.ts'
import { splitCard } from '../site/elements/cards.ts'
import { type FormFields, invalidField } from '../site/elements/fields.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Site } from '../site/site.ts'
import type { Texts } from '../texts/texts.ts'

const NEW = { type: 'password', autocomplete: 'new-password' } as const
const FIELDS = {
  current_password: {
    schema: GivenPassword,
    label: ({ fields }) => fields.currentPassword,
    type: 'password',
    autocomplete: 'current-password',
  },
  new_password: { ...NEW, schema: NewPassword, label: ({ fields }) => fields.newPassword, hint: ({ hints }) => hints.password },
  confirm_password: { ...NEW, schema: GivenPassword, label: ({ fields }) => fields.confirmPassword },
} as const satisfies FormFields

/** Changing the password, which needs the current one. */
export function accountPasswordRoutes({ form }: PageRoutes, { site, cookies, users, login, pageLimiter, secondFactor }: PageParts): void {
  form('/password', {
    title: ({ navigation }) => navigation.password,
    asksForPassword: 'in-form',
    fields: FIELDS,
    async show({ problem, field }, { caller, texts }) {
      const { hasPassword } = await secondFactor.status(caller.user.id)
      if (!hasPassword) return noPasswordCard(site, texts)
      return splitCard({
        id: 'password',
        title: texts.password.title,
        text: texts.password.text,
        content: html`<form class="form" method="post" action="${site.root}/account/password">
${problem}${field('current_password')}
${field('new_password')}
${field('confirm_password')}
<div class="actions"><button class="primary">${texts.password.change}</button></div>
</form>`,
      })
    },
    async submit({ body, actor, texts: { password } }, reply) {
      if (body.confirm_password !== body.new_password) throw invalidField('confirm_password', password.different)
      // Guesses count like those of signing in.
      await login.confirm(actor, { password: body.current_password }, pageLimiter).catch(asFieldProblem(password.notCurrent))
      // The session is replaced: a copy of the cookie ends with the password that it was opened with.
      cookies.setSession(reply, await users.changeOwnPassword(actor, body.new_password))
      return { to: '/account/password', notice: 'password-changed' }
    },
  })
}

/** A mail shows that the address still belongs to the owner of the account. */
function noPasswordCard({ root }: Site, { password }: Texts): Html {
  return splitCard({
    id: 'password',
    title: password.none,
    text: password.noneText,
    content: html`<div class="form"><div class="actions"><a class="button primary" href="${root}/account/forgot-password">${password.request}</a></div></div>`,
  })
}

/** Here the password is wrong, and not the address as well. */
function asFieldProblem(message: string) {
  return (error: unknown): never => {
    const isWrong = error instanceof Refusal && error.code === 'wrong_credentials'
    throw isWrong ? invalidField('current_password', message) : error
  }
}
