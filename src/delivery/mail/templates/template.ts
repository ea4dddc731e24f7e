import { html, renderHtml } from '../../../shared/html.ts'
import type { Placeholder, PlaceholderValues } from './placeholders.ts'

/** A template that was checked: text, and the placeholders between it. */
export type Template = readonly (string | { readonly placeholder: Placeholder })[]

const LINE_BREAKS = /[\p{Cc}\u2028\u2029]+/gu

export function fillText(template: Template, values: PlaceholderValues): string {
  return fill(template, values, (value) => value)
}

/** Values are escaped, for content and for quoted attributes. */
export function fillHtml(template: Template, values: PlaceholderValues): string {
  return fill(template, values, (value) => renderHtml(html`${value}`))
}

/** One line, whatever the values contain: a line break in a header could begin another header. */
export function fillSubject(template: Template, values: PlaceholderValues): string {
  return fillText(template, values).replace(LINE_BREAKS, ' ').trim()
}

export function uses(template: Template, name: Placeholder): boolean {
  return template.some((item) => typeof item === 'object' && item.placeholder === name)
}

function fill(template: Template, values: PlaceholderValues, write: (value: string) => string): string {
  return template.map((item) => (typeof item === 'string' ? item : write(values[item.placeholder] ?? ''))).join('')
}
