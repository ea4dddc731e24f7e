import { NAME_MAX_LENGTH } from '../../../domain/values/limits.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Email, FirstName, LastName, NewPassword } from '../../validation/schema.ts'
import type { Form, FormFields } from './elements/fields.ts'

export const NAME_FIELDS = {
  first_name: { schema: FirstName, label: ({ fields }) => fields.firstName, autocomplete: 'given-name', maxLength: NAME_MAX_LENGTH },
  last_name: { schema: LastName, label: ({ fields }) => fields.lastName, autocomplete: 'family-name', maxLength: NAME_MAX_LENGTH },
} as const satisfies FormFields

/** The fields of a new account. */
export const NEW_ACCOUNT_FIELDS = {
  email: { schema: Email, label: ({ fields }) => fields.email, type: 'email', autocomplete: 'username' },
  ...NAME_FIELDS,
  password: {
    schema: NewPassword,
    label: ({ fields }) => fields.password,
    type: 'password',
    autocomplete: 'new-password',
    hint: ({ hints }) => hints.password,
  },
} as const satisfies FormFields

type NewAccount = Readonly<Record<keyof typeof NEW_ACCOUNT_FIELDS, string>>

/** The new account that a form describes. */
export function registrantOf({ email, password, first_name: firstName, last_name: lastName }: NewAccount) {
  return { email, password, firstName, lastName }
}

type Names = Form<keyof typeof NAME_FIELDS>

/** Both names, side by side. */
export function namePair(
  { field }: Names,
  options: { readonly [Name in keyof typeof NAME_FIELDS]?: Parameters<Names['field']>[1] } = {},
): Html {
  return html`<div class="pair">${field('first_name', options.first_name)}
${field('last_name', options.last_name)}</div>`
}

const OFF = { autocomplete: 'off' }
/** The same for somebody else: the browser must not fill in the data of the admin. */
export const PERSON_FIELDS = {
  email: { ...NEW_ACCOUNT_FIELDS.email, ...OFF },
  first_name: { ...NEW_ACCOUNT_FIELDS.first_name, ...OFF },
  last_name: { ...NEW_ACCOUNT_FIELDS.last_name, ...OFF },
}
