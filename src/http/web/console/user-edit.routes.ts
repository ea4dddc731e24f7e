import type { FastifyRequest } from 'fastify'
import type { User } from '../../../model/user.ts'
import { html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { splitCard } from '../site/elements/cards.ts'
import { type Form, formOf } from '../site/elements/fields.ts'
import { namePair, PERSON_FIELDS } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'
import { CONSOLE_TEXTS } from '../texts/texts.ts'

const UserPath = { user_id: Type.Integer() }
const VERIFIED: readonly (readonly [value: string, text: string])[] = [
  ['yes', 'Yes'],
  ['no', 'No'],
]
const FIELDS = { ...PERSON_FIELDS, verified: { schema: Type.Enum(VERIFIED.map(([value]) => value)), label: 'Verified', choices: VERIFIED } }
type EditForm = Form<keyof typeof FIELDS>

/** The names, the address and the verification of an account. */
export function consoleUserEditRoutes({ get, action }: PageRoutes, { site, userAdministration }: PageParts): void {
  get('/users/:user_id/edit', {
    params: UserPath,
    handle: async ({ params }) => editPage(site, await userAdministration.find(params.user_id), formOf(CONSOLE_TEXTS, FIELDS)),
  })

  action('/users/:user_id/edit', {
    // A verified admin with another address is an admin of somebody else.
    asksForPassword: {
      to: 'edit this admin',
      when: async ({ params }) => (await userAdministration.find(params.user_id)).role === 'admin',
    },
    params: UserPath,
    fields: FIELDS,
    retry: async (form, request) => editPage(site, await userAdministration.find(idOf(request)), form),
    change({ actor, params, body }) {
      const edited = { email: body.email, firstName: body.first_name, lastName: body.last_name, verified: body.verified === 'yes' }
      return userAdministration.edit(actor, params.user_id, edited)
    },
    to: ({ params }) => `/console/users/${params.user_id}`,
    notice: (isChanged) => (isChanged ? 'user-saved' : 'user-unchanged'),
  })
}

function idOf({ params }: FastifyRequest): number {
  return Number((params as { user_id: unknown }).user_id) || 0
}

function editPage({ root, hasNotices }: Site, user: User, form: EditForm): Page {
  const base = `${root}/console/users/${user.id}`
  const content = splitCard({
    id: 'edit',
    title: 'Name and address',
    text: hasNotices
      ? 'A new address takes effect at once, without a link that confirms it; the former address gets a notice. An account that is not verified cannot be used.'
      : 'A new address takes effect at once, without a link that confirms it. An account that is not verified cannot be used.',
    content: html`<form class="form" method="post" action="${base}/edit">
${form.problem}${namePair(form, { first_name: { value: user.firstName }, last_name: { value: user.lastName } })}
${form.field('email', { value: user.email })}
${form.field('verified', { value: user.verified ? 'yes' : 'no' })}
<div class="actions"><button class="primary">Save</button><a class="button" href="${base}">Cancel</a></div>
</form>`,
  })
  return { title: `Edit ${user.email}`, content, back: { path: `/console/users/${user.id}`, text: user.email } }
}
