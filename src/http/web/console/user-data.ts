import type { JsonObject } from '../../../model/entity.ts'
import type { UserData } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { splitCard } from '../site/elements/cards.ts'
import { type Form, formOf } from '../site/elements/fields.ts'
import { CONSOLE_TEXTS } from '../texts/texts.ts'

// Longer texts do not fit into a form. Only the object that they describe has a limit.
const JSON_TEXT = Type.Unsafe<JsonObject>(Type.String({ format: 'json', maxLength: 65_536 }))
const FIELD = { schema: Type.Optional(JSON_TEXT), rows: 4 } as const

/** One form for each object, so that the largest ones can be sent. */
export const DATA_FIELDS = {
  profile: { ...FIELD, label: 'Profile', hint: 'The user can change it too.' },
  app: { ...FIELD, label: 'App', hint: 'Only admins can change it.' },
}
export type DataForm = Form<keyof typeof DATA_FIELDS>

/** What the product keeps about the account. `retried` is a form that was refused. */
export function dataCard(action: string, data: UserData, retried?: DataForm): Html {
  const empty = formOf(CONSOLE_TEXTS, DATA_FIELDS)
  const form = (name: keyof UserData) => {
    const { problem, field } = retried?.values[name] === undefined ? empty : retried
    return html`<form class="form" method="post" action="${action}">
${problem}${field(name, { value: textOf(data[name]) })}
<div class="actions"><button>Save</button></div>
</form>`
  }
  return splitCard({
    id: 'data',
    title: 'Data of the product',
    text: 'JSON objects that your product reads with this account. Saving replaces the whole object.',
    content: html`<div class="form">${form('profile')}${form('app')}</div>`,
  })
}

// A form triples most characters, and sends a line break as six.
const MAX_INDENTED_BYTES = 8192

/** In lines, unless the form would then be too large to be sent. */
function textOf(object: JsonObject): string {
  const text = JSON.stringify(object, null, 2)
  return Buffer.byteLength(text) > MAX_INDENTED_BYTES ? JSON.stringify(object) : text
}
