import type { Passkeys } from '../../../domain/sign-in/passkeys.service.ts'
import { NAME_MAX_LENGTH } from '../../../domain/values/limits.ts'
import type { Actor } from '../../../model/caller.ts'
import type { Passkey } from '../../../model/factor.ts'
import { Refusal } from '../../../model/refusal.ts'
import { html } from '../../../shared/html.ts'
import { nameField, Type } from '../../validation/schema.ts'
import { deletionCard, splitCard } from '../site/elements/cards.ts'
import { credentialOf, newPasskeyButton, PASSKEY } from '../site/elements/factors.ts'
import { type Form, formOf } from '../site/elements/fields.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'

const PATH = '/account/security'
const BACK = { path: PATH, text: 'Security' } as const
const Params = { passkey_id: Type.String({ maxLength: 100 }) }
const NAME = {
  name: {
    schema: nameField('What its owner calls it.', 'My phone'),
    label: 'Name',
    maxLength: NAME_MAX_LENGTH,
    hint: 'Where the passkey is, such as a phone or a password manager.',
  },
} as const
const NEW = { ...NAME, passkey: PASSKEY } as const

/** The passkeys of the caller. Where browsers accept none, there are no such pages. */
export function accountPasskeysRoutes({ get, post }: PageRoutes, { site, passkeys }: PageParts): void {
  if (passkeys === undefined) return
  const open = { worksWithoutFactor: 'setup' } as const
  const asksForPassword = { to: 'add a passkey', cancel: PATH } as const
  const add = newPasskeyPage(site, passkeys)

  get('/security/passkeys/new', { ...open, asksForPassword, handle: ({ actor }) => add(actor, formOf(NEW)) })

  post('/security/passkeys', {
    ...open,
    asksForPassword,
    fields: NEW,
    retry: (form, { actor }) => add(actor, form),
    async handle({ body, actor }) {
      await passkeys.add(actor, body.name, credentialOf(body.passkey ?? ''))
      return { to: PATH, notice: 'passkey-added' }
    },
  })

  const find = async ({ caller }: Pick<Actor, 'caller'>, id: string) => {
    const found = (await passkeys.list(caller.user.id)).find((passkey) => passkey.id === id)
    if (found === undefined) throw new Refusal('passkey_not_found')
    return found
  }

  get('/security/passkeys/:passkey_id', {
    ...open,
    params: Params,
    handle: async ({ actor, params }) => passkeyPage(site, await find(actor, params.passkey_id), formOf(NAME)),
  })

  post('/security/passkeys/:passkey_id', {
    ...open,
    asksForPassword: false,
    params: Params,
    fields: NAME,
    retry: async (form, { caller, params }) =>
      passkeyPage(site, await find({ caller }, (params as { passkey_id: string }).passkey_id), form),
    async handle({ actor, params, body }) {
      await passkeys.rename(actor, params.passkey_id, body.name)
      return { to: PATH, notice: 'passkey-renamed' }
    },
  })

  post('/security/passkeys/:passkey_id/remove', {
    ...open,
    asksForPassword: { to: 'remove this passkey' },
    params: Params,
    async handle({ actor, params }) {
      await passkeys.remove(actor, params.passkey_id)
      return { to: PATH, notice: 'passkey-removed' }
    },
  })
}

/** A page that creates a passkey. It has a new challenge each time, so that a form that is shown again works. */
function newPasskeyPage({ root }: Site, passkeys: Passkeys) {
  return async (actor: Actor, { problem, field }: Form<keyof typeof NEW>): Promise<Page> => {
    const options = await passkeys.creationOptions(actor)
    const content = splitCard({
      id: 'new',
      title: 'Sign in without a password',
      text: 'Your device keeps the passkey and opens it with its screen lock: a fingerprint, a face or a PIN. It works on this site only, so that a false site cannot get it from you.',
      content: html`<form class="form" method="post" action="${root}${PATH}/passkeys">
${problem}${field('name', { hasFocus: true })}
<div class="actions">${newPasskeyButton({ text: 'Create passkey', name: 'passkey', options, isPrimary: true })}<a class="button" href="${root}${PATH}">Cancel</a></div>
<noscript><p class="hint">Creating a passkey needs JavaScript.</p></noscript>
</form>`,
    })
    return { title: 'Add a passkey', content, back: BACK }
  }
}

function passkeyPage({ root }: Site, { id, name }: Passkey, { problem, field }: Form<keyof typeof NAME>): Page {
  const base = `${root}${PATH}/passkeys/${id}`
  const content = html`${splitCard({
    id: 'name-card',
    title: 'Name',
    text: 'What you call this passkey. Only you see it.',
    content: html`<form class="form" method="post" action="${base}">
${problem}${field('name', { value: name })}
<div class="actions"><button class="primary">Save</button></div>
</form>`,
  })}
${deletionCard({
  title: 'Remove this passkey',
  text: 'It no longer signs you in. Delete it on your device too: this site cannot. This cannot be undone.',
  action: `${base}/remove`,
  name,
  verb: 'Remove',
})}`
  return { title: name, content, back: BACK }
}
