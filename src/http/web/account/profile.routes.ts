import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { SelfDeletion } from '../../../domain/sign-in/self-deletion.service.ts'
import type { Users } from '../../../domain/users/users.service.ts'
import { NAME_MAX_LENGTH } from '../../../domain/values/limits.ts'
import type { User } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { ANSWERS } from '../../answers/answers.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Email, FirstName, GivenPassword, LastName } from '../../validation/schema.ts'
import { formProblem, inputField, NO_PROBLEMS, type Problems } from '../site/elements/fields.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import { toFrontend } from '../site/site.ts'

export type ProfileParts = PageParts & { readonly users: Users; readonly selfDeletion: SelfDeletion; readonly pageLimiter: Limiter }

type Values = Readonly<Record<string, string>>

const NAME_LABELS = { first_name: 'First name', last_name: 'Last name' }
const EMAIL_LABELS = { email: 'Email' }
const PASSWORD_LABELS = { password: 'Password' }

/** The profile of the caller: name, address, and leaving. */
export function accountProfileRoutes(app: App, parts: ProfileParts): void {
  const { site, cookies, users, selfDeletion, pageLimiter } = parts
  const { get, post } = createPageRoutes(app, parts, 'account')

  get('/', {}, ({ actor }) => profilePage(actor.caller.user, {}))

  post(
    '/',
    {
      asksForPassword: false,
      body: { first_name: FirstName, last_name: LastName },
      labels: NAME_LABELS,
      retry: (problems, values, { caller }) => profilePage(caller.user, { name: { problems, values } }),
    },
    async ({ body, actor }) => {
      await users.edit(actor, actor.caller.user.id, { firstName: body.first_name, lastName: body.last_name })
      return { to: '/account/', notice: 'profile-saved' }
    },
  )

  // Whoever changes the address can have a new password sent to it, so that the password is asked for again.
  post(
    '/email',
    {
      asksForPassword: { to: 'change your address', cancel: '/account/' },
      body: { email: Email },
      labels: EMAIL_LABELS,
      retry: (problems, values, { caller }) => profilePage(caller.user, { email: { problems, values } }),
    },
    async ({ body, actor }) => {
      const { id, email } = actor.caller.user
      if (body.email === email) return { to: '/account/' }
      await users.editAndConfirm(actor, id, { email: body.email })
      return { to: '/account/', notice: 'address-mailed' }
    },
  )

  if (!site.hasSelfDeletion) return
  post(
    '/delete',
    {
      asksForPassword: 'in-form',
      body: { password: GivenPassword },
      labels: PASSWORD_LABELS,
      retry: (problems, _values, { caller }) => profilePage(caller.user, { deletion: { problems: aboutPassword(problems), values: {} } }),
    },
    async ({ body, actor, reply }) => {
      await selfDeletion.remove(actor, body.password, pageLimiter)
      cookies.clearSession(reply)
      return goodbyePage()
    },
  )

  type Retries = Readonly<Partial<Record<'name' | 'email' | 'deletion', { problems: Problems; values: Values }>>>

  function profilePage(user: User, { name, email, deletion }: Retries): Page {
    const content = html`${nameCard(user, name?.problems ?? NO_PROBLEMS, name?.values ?? {})}
${emailCard(user, email?.problems ?? NO_PROBLEMS, email?.values ?? {})}
${site.hasSelfDeletion ? deletionCard(user, deletion?.problems) : undefined}`
    return { title: 'Profile', content, actions: toFrontend(site) }
  }

  function nameCard(user: User, problems: Problems, values: Values): Html {
    const field = (name: 'first_name' | 'last_name', value: string, autocomplete: string) =>
      inputField({ name, label: NAME_LABELS[name], value: values[name] ?? value, autocomplete, maxLength: NAME_MAX_LENGTH }, problems)
    return html`<section class="card split" aria-labelledby="name"><header><h2 id="name">Name</h2>
<p class="quiet">As it appears in the emails of this service.</p></header>
<form class="form" method="post" action="${site.root}/account/">
${formProblem(problems)}<div class="pair">${field('first_name', user.firstName, 'given-name')}
${field('last_name', user.lastName, 'family-name')}</div>
<div class="actions"><button class="primary">Save</button></div>
</form></section>`
  }

  function emailCard(user: User, problems: Problems, values: Values): Html {
    return html`<section class="card split" aria-labelledby="address"><header><h2 id="address">Address</h2>
<p class="quiet" id="address-text">We send a link to the new address. Your address changes when you open the link.</p></header>
<form class="form" method="post" action="${site.root}/account/email">
${formProblem(problems)}${inputField({ name: 'email', label: 'Email', type: 'email', value: values['email'] ?? user.email, autocomplete: 'email', describedBy: 'address-text' }, problems)}
<div class="actions"><button>Change address</button></div>
</form></section>`
  }

  function deletionCard({ email }: User, problems: Problems | undefined): Html {
    return html`<section class="card split" aria-labelledby="deletion"><header><h2 id="deletion">Delete your account</h2>
<p class="quiet">This deletes your account with its sessions and API keys. It cannot be undone.</p></header>
<details class="confirm"${problems === undefined ? '' : html` open`}><summary>Delete…</summary>
<form class="form" method="post" action="${site.root}/account/delete">
${formProblem(problems ?? NO_PROBLEMS)}<p>Delete <strong>${email}</strong> for good?</p>
${inputField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' }, problems ?? NO_PROBLEMS)}
<div class="actions"><button class="danger">Delete account</button></div>
</form></details></section>`
  }

  function goodbyePage(): Page {
    const content = html`<p class="notice good" role="status">Your account has been deleted, with its sessions and API keys.</p>
<div class="actions">${toFrontend(site) ?? html`<a class="button" href="${site.root}/account/register">Create an account</a>`}</div>`
    return { title: 'Goodbye', content, isLone: true }
  }
}

/** Here the password is wrong, and not the address as well. */
function aboutPassword(problems: Problems): Problems {
  if (problems.answer !== ANSWERS.wrong_credentials) return problems
  return { fields: { password: 'This is not your password' }, message: undefined }
}
