// Not exported, so that only this file can create a value of the type.
const TEXT = Symbol('html')

/** Text that is safe to send as HTML. Only the `html` template creates it, so a plain string does not compile as HTML. */
export type Html = { readonly [TEXT]: string }

/** The values of a template: text, which is escaped, or HTML. Undefined adds nothing. */
type HtmlValue = string | number | Html | readonly Html[] | undefined

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Creates HTML from a template. Values that are not HTML are escaped, for content and for quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] ?? ''
  for (const [index, value] of values.entries()) text += textOf(value) + (strings[index + 1] ?? '')
  return { [TEXT]: text }
}

export function renderHtml(page: Html): string {
  return page[TEXT]
}

function textOf(value: HtmlValue): string {
  if (value === undefined) return ''
  if (typeof value !== 'object') return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
  return TEXT in value ? value[TEXT] : value.map(textOf).join('\n')
}
