import type { Passkeys } from '../../../domain/sign-in/passkeys.service.ts'
import { NAME_MAX_LENGTH } from '../../../domain/values/limits.ts'
import type { Actor } from '../../../model/caller.ts'
import type { Passkey } from '../../../model/factor.ts'
import { Refusal } from '../../../model/refusal.ts'
import { html } from '../../../shared/html.ts'
import { nameField, Type } from '../../validation/schema.ts'
import { deletionCard, splitCard } from '../site/elements/cards.ts'
import { credentialOf, newPasskeyButton, PASSKEY } from '../site/elements/factors.ts'
import { type Form, type FormFields, formOf } from '../site/elements/fields.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'
import type { Texts } from '../texts/texts.ts'

const PATH = '/account/security'
const backOf = ({ navigation }: Texts) => ({ path: PATH, text: navigation.security })
const Params = { passkey_id: Type.String({ maxLength: 100 }) }
const NAME = {
  name: {
    schema: nameField('What its owner calls it.', 'My phone'),
    label: ({ fields }) => fields.name,
    maxLength: NAME_MAX_LENGTH,
    hint: ({ hints }) => hints.passkeyName,
  },
} as const satisfies FormFields
const NEW = { ...NAME, passkey: PASSKEY } as const

/** The passkeys of the caller. Where browsers accept none, there are no such pages. */
export function accountPasskeysRoutes({ get, action }: PageRoutes, { site, passkeys }: PageParts): void {
  if (passkeys === undefined) return
  const open = { worksWithoutFactor: 'setup' } as const
  const asksForPassword = { to: ({ purposes }: Texts) => purposes.addPasskey, cancel: PATH } as const
  const add = newPasskeyPage(site, passkeys)

  get('/security/passkeys/new', { ...open, asksForPassword, handle: ({ actor, texts }) => add(actor, texts, formOf(texts, NEW)) })

  action('/security/passkeys', {
    ...open,
    asksForPassword,
    fields: NEW,
    retry: (form, { actor, texts }) => add(actor, texts, form),
    change: ({ actor, body }) => passkeys.add(actor, body.name, credentialOf(body.passkey ?? '')),
    to: PATH,
    notice: 'passkey-added',
  })

  const find = async ({ caller }: Actor, id: string) => {
    const found = (await passkeys.list(caller.user.id)).find((passkey) => passkey.id === id)
    if (found === undefined) throw new Refusal('passkey_not_found')
    return found
  }

  get('/security/passkeys/:passkey_id', {
    ...open,
    params: Params,
    handle: async ({ actor, params, texts }) => passkeyPage(site, texts, await find(actor, params.passkey_id), formOf(texts, NAME)),
  })

  action('/security/passkeys/:passkey_id', {
    ...open,
    asksForPassword: false,
    params: Params,
    fields: NAME,
    retry: async (form, { actor, params, texts }) =>
      passkeyPage(site, texts, await find(actor, (params as { passkey_id: string }).passkey_id), form),
    change: ({ actor, params, body }) => passkeys.rename(actor, params.passkey_id, body.name),
    to: PATH,
    notice: 'passkey-renamed',
  })

  action('/security/passkeys/:passkey_id/remove', {
    ...open,
    asksForPassword: { to: ({ purposes }) => purposes.removePasskey },
    params: Params,
    change: ({ actor, params }) => passkeys.remove(actor, params.passkey_id),
    to: PATH,
    notice: 'passkey-removed',
  })
}

/** A page that creates a passkey. It has a new challenge each time, so that a form that is shown again works. */
function newPasskeyPage({ root }: Site, passkeys: Passkeys) {
  return async (actor: Actor, texts: Texts, { problem, field }: Form<keyof typeof NEW>): Promise<Page> => {
    const { passkeys: shown, buttons } = texts
    const options = await passkeys.creationOptions(actor)
    const content = splitCard({
      id: 'new',
      title: shown.newTitle,
      text: shown.newText,
      content: html`<form class="form" method="post" action="${root}${PATH}/passkeys">
${problem}${field('name', { hasFocus: true })}
<div class="actions">${newPasskeyButton({ text: shown.create, name: 'passkey', options, isPrimary: true })}<a class="button" href="${root}${PATH}">${buttons.cancel}</a></div>
<noscript><p class="hint">${shown.needsScript}</p></noscript>
</form>`,
    })
    return { title: shown.add, content, back: backOf(texts) }
  }
}

function passkeyPage({ root }: Site, texts: Texts, { id, name }: Passkey, { problem, field }: Form<keyof typeof NAME>): Page {
  const { passkeys, fields, buttons } = texts
  const base = `${root}${PATH}/passkeys/${id}`
  const content = html`${splitCard({
    id: 'name-card',
    title: fields.name,
    text: passkeys.nameText,
    content: html`<form class="form" method="post" action="${base}">
${problem}${field('name', { value: name })}
<div class="actions"><button class="primary">${buttons.save}</button></div>
</form>`,
  })}
${deletionCard({
  title: passkeys.removal,
  text: passkeys.removalText,
  action: `${base}/remove`,
  verb: passkeys.remove,
  question: passkeys.removing(name),
})}`
  return { title: name, content, back: backOf(texts) }
}
