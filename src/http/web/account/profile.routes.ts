import type { User } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Email, GivenPassword } from '../../validation/schema.ts'
import { splitCard } from '../site/elements/cards.ts'
import { type Form, formOf } from '../site/elements/fields.ts'
import { NAME_FIELDS, namePair } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'
import { toFrontend } from '../site/site.ts'

const EMAIL = { email: { schema: Email, label: 'Email', type: 'email', autocomplete: 'email', describedBy: 'address-text' } } as const
const PASSWORD = {
  password: {
    schema: GivenPassword,
    label: 'Password',
    type: 'password',
    autocomplete: 'current-password',
    wrong: 'This is not your password',
  },
} as const

/** The forms of the page that are shown again. */
type Retried = {
  readonly name?: Form<keyof typeof NAME_FIELDS>
  readonly email?: Form<keyof typeof EMAIL>
  readonly deletion?: Form<keyof typeof PASSWORD>
}

/** The profile of the caller: name, address, and leaving. */
export function accountProfileRoutes({ get, post }: PageRoutes, { site, cookies, users, selfDeletion, pageLimiter }: PageParts): void {
  get('/', { handle: ({ actor }) => profilePage(actor.caller.user) })

  post('/', {
    asksForPassword: false,
    fields: NAME_FIELDS,
    retry: (name, { caller }) => profilePage(caller.user, { name }),
    async handle({ body, actor }) {
      await users.edit(actor, actor.caller.user.id, { firstName: body.first_name, lastName: body.last_name })
      return { to: '/account/', notice: 'profile-saved' }
    },
  })

  // Whoever changes the address can have a new password sent to it, so that the password is asked for again.
  post('/email', {
    asksForPassword: { to: 'change your address', cancel: '/account/' },
    fields: EMAIL,
    retry: (email, { caller }) => profilePage(caller.user, { email }),
    async handle({ body, actor }) {
      const { id, email } = actor.caller.user
      if (body.email === email) return { to: '/account/' }
      await users.editAndConfirm(actor, id, { email: body.email })
      return { to: '/account/', notice: 'address-mailed' }
    },
  })

  if (site.hasSelfDeletion)
    post('/delete', {
      asksForPassword: 'in-form',
      fields: PASSWORD,
      retry: (deletion, { caller }) => profilePage(caller.user, { deletion }),
      async handle({ body, actor }, reply) {
        await selfDeletion.remove(actor, body.password, pageLimiter)
        cookies.clearSession(reply)
        const content = html`<p class="notice good" role="status">Your account has been deleted, with its sessions and API keys.</p>
<div class="actions">${toFrontend(site) ?? html`<a class="button" href="${site.root}/account/register">Create an account</a>`}</div>`
        return { title: 'Goodbye', content, isLone: true }
      },
    })

  function profilePage(user: User, { name = formOf(NAME_FIELDS), email = formOf(EMAIL), deletion }: Retried = {}): Page {
    const content = html`${nameCard(user, name)}
${emailCard(user, email)}
${site.hasSelfDeletion ? leavingCard(user, deletion) : undefined}`
    return { title: 'Profile', content, actions: toFrontend(site) }
  }

  function nameCard({ firstName, lastName }: User, form: NonNullable<Retried['name']>): Html {
    return splitCard({
      id: 'name',
      title: 'Name',
      text: 'As it appears in the emails of this service.',
      content: html`<form class="form" method="post" action="${site.root}/account/">
${form.problem}${namePair(form, { first_name: { value: firstName }, last_name: { value: lastName } })}
<div class="actions"><button class="primary">Save</button></div>
</form>`,
    })
  }

  function emailCard({ email }: User, { problem, field }: NonNullable<Retried['email']>): Html {
    return splitCard({
      id: 'address',
      title: 'Address',
      text: 'We send a link to the new address. Your address changes when you open the link.',
      textId: 'address-text',
      content: html`<form class="form" method="post" action="${site.root}/account/email">
${problem}${field('email', { value: email })}
<div class="actions"><button>Change address</button></div>
</form>`,
    })
  }

  function leavingCard({ email }: User, retried: Retried['deletion']): Html {
    const { problem, field } = retried ?? formOf(PASSWORD)
    return splitCard({
      id: 'deletion',
      title: 'Delete your account',
      text: 'This deletes your account with its sessions and API keys. It cannot be undone.',
      content: html`<details class="confirm"${retried === undefined ? '' : html` open`}><summary>Delete…</summary>
<form class="form" method="post" action="${site.root}/account/delete">
${problem}<p>Delete <strong>${email}</strong> for good?</p>
${field('password')}
<div class="actions"><button class="danger">Delete account</button></div>
</form></details>`,
    })
  }
}
