import type { User } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Email, GivenPassword, Type } from '../../validation/schema.ts'
import { splitCard } from '../site/elements/cards.ts'
import { type Form, type FormFields, formOf, inputField } from '../site/elements/fields.ts'
import { NAME_FIELDS, namePair } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'
import { toFrontend } from '../site/site.ts'
import { TEXTS, type Texts } from '../texts/texts.ts'

const EMAIL = {
  email: { schema: Email, label: ({ fields }) => fields.email, type: 'email', autocomplete: 'email', describedBy: 'address-text' },
} as const satisfies FormFields
const PASSWORD = {
  password: {
    schema: GivenPassword,
    label: ({ fields }) => fields.password,
    type: 'password',
    autocomplete: 'current-password',
    wrong: ({ profile }) => profile.notYourPassword,
  },
} as const satisfies FormFields

/** The forms of the page that are shown again. */
type Retried = {
  readonly name?: Form<keyof typeof NAME_FIELDS>
  readonly email?: Form<keyof typeof EMAIL>
  readonly deletion?: Form<keyof typeof PASSWORD>
}

/** The profile of the caller: name, language, address, and leaving. */
export function accountProfileRoutes({ get, post, action }: PageRoutes, parts: PageParts): void {
  const { site, cookies, users, ownAccount, pageLimiter } = parts
  // Where there is one language only, there is nothing to choose.
  const choices = site.languages.map((language) => [language, TEXTS[language].languageName] as const)

  get('/', { handle: ({ actor, texts }) => profilePage(texts, actor.caller.user) })

  action('/', {
    asksForPassword: false,
    fields: NAME_FIELDS,
    retry: (name, { caller, texts }) => profilePage(texts, caller.user, { name }),
    change: ({ actor, body }) => users.edit(actor, actor.caller.user.id, { firstName: body.first_name, lastName: body.last_name }),
    to: '/account/',
    notice: 'profile-saved',
  })

  if (choices.length > 1)
    action('/language', {
      asksForPassword: false,
      fields: { language: { schema: Type.Enum([...site.languages]) } },
      change: ({ actor, body }) => users.edit(actor, actor.caller.user.id, { language: body.language }),
      to: '/account/',
      notice: 'language-saved',
    })

  // Whoever changes the address can have a new password sent to it, so that the password is asked for again.
  post('/email', {
    asksForPassword: { to: ({ purposes }) => purposes.changeAddress, cancel: '/account/' },
    fields: EMAIL,
    retry: (email, { caller, texts }) => profilePage(texts, caller.user, { email }),
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
      retry: (deletion, { caller, texts }) => profilePage(texts, caller.user, { deletion }),
      async handle({ body, actor, texts }, reply) {
        await ownAccount.remove(actor, body.password, pageLimiter)
        cookies.clearSession(reply)
        const content = html`<p class="notice good" role="status">${texts.profile.deleted}</p>
<div class="actions">${toFrontend(site, texts) ?? html`<a class="button" href="${site.root}/account/register">${texts.buttons.register}</a>`}</div>`
        return { title: texts.profile.goodbye, content, isLone: true }
      },
    })

  function profilePage(texts: Texts, user: User, { name, email, deletion }: Retried = {}): Page {
    const content = html`${nameCard(texts, user, name ?? formOf(texts, NAME_FIELDS))}
${choices.length > 1 ? languageCard(texts) : undefined}${emailCard(texts, user, email ?? formOf(texts, EMAIL))}
${site.hasSelfDeletion ? leavingCard(texts, user, deletion) : undefined}`
    return { title: texts.navigation.profile, content, actions: toFrontend(site, texts) }
  }

  function nameCard({ fields, profile, buttons }: Texts, { firstName, lastName }: User, form: NonNullable<Retried['name']>): Html {
    return splitCard({
      id: 'name',
      title: fields.name,
      text: profile.nameText,
      content: html`<form class="form" method="post" action="${site.root}/account/">
${form.problem}${namePair(form, { first_name: { value: firstName }, last_name: { value: lastName } })}
<div class="actions"><button class="primary">${buttons.save}</button></div>
</form>`,
    })
  }

  function languageCard({ language, fields, profile }: Texts): Html {
    return html`${splitCard({
      id: 'language-card',
      title: fields.language,
      text: profile.languageText,
      content: html`<form class="form" method="post" action="${site.root}/account/language">
${inputField({ name: 'language', label: fields.language, choices, value: language })}
<div class="actions"><button>${profile.saveLanguage}</button></div>
</form>`,
    })}\n`
  }

  function emailCard({ profile }: Texts, { email }: User, { problem, field }: NonNullable<Retried['email']>): Html {
    return splitCard({
      id: 'address',
      title: profile.address,
      text: profile.addressText,
      textId: 'address-text',
      content: html`<form class="form" method="post" action="${site.root}/account/email">
${problem}${field('email', { value: email })}
<div class="actions"><button>${profile.changeAddress}</button></div>
</form>`,
    })
  }

  function leavingCard(texts: Texts, { email }: User, retried: Retried['deletion']): Html {
    const { profile } = texts
    const { problem, field } = retried ?? formOf(texts, PASSWORD)
    return splitCard({
      id: 'deletion',
      title: profile.leaving,
      text: profile.leavingText,
      content: html`<details class="confirm"${retried === undefined ? '' : html` open`}><summary class="button danger">${profile.delete}</summary>
<form class="form" method="post" action="${site.root}/account/delete">
${problem}<p>${profile.deletion(email)}</p>
${field('password')}
<div class="actions"><button class="primary danger">${profile.deleteAccount}</button></div>
</form></details>`,
    })
  }
}
