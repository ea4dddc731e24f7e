// Not exported: only this file can make a value of the type.
const TEXT = Symbol('html')

/** Text that is safe to send as HTML. Only the `html` template makes it, so that a bare string does not compile as HTML. */
export type Html = { readonly [TEXT]: string }

/** What a template takes: text, which is escaped, or HTML. Nothing is written for undefined. */
export type HtmlValue = string | number | Html | readonly Html[] | undefined

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Makes HTML from a template. Every value that is not HTML itself is escaped, for content and for quoted attributes alike. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] ?? ''
  for (const [index, value] of values.entries()) text += textOf(value) + (strings[index + 1] ?? '')
  return { [TEXT]: text }
}

/** The text to send. */
export function renderHtml(page: Html): string {
  return page[TEXT]
}

function textOf(value: HtmlValue): string {
  if (value === undefined) return ''
  if (typeof value !== 'object') return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
  return TEXT in value ? value[TEXT] : value.map(textOf).join('\n')
}
