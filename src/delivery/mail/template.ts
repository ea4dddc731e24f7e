import type { MailKind } from '../../model/mail.ts'
import { html, renderHtml } from '../../shared/html.ts'

/** The parts of a mail that a file can replace. */
export const MAIL_PARTS = ['subject', 'text', 'html'] as const

export type MailPart = (typeof MAIL_PARTS)[number]

/** What a template can contain, written as `{{name}}`. */
export type Placeholder =
  | 'title'
  | 'first_name'
  | 'last_name'
  | 'email'
  | 'link'
  | 'lifetime'
  | 'time'
  | 'keys'
  | 'brand_color'
  | 'brand_text_color'
  | 'logo'

/** The values of one mail, as plain text. */
export type PlaceholderValues = Readonly<Partial<Record<Placeholder, string>>>

const OF_EVERY_MAIL: readonly Placeholder[] = ['title', 'first_name', 'last_name', 'email']

const OF_KIND: Readonly<Record<MailKind, readonly Placeholder[]>> = {
  verify: ['link', 'lifetime'],
  reset: ['link', 'lifetime'],
  email_change: ['link', 'lifetime'],
  password_changed: ['time'],
  email_changed: ['time'],
  admin_role: ['time'],
  key_leaked: ['time', 'keys'],
}

const OF_PART: Readonly<Record<MailPart, readonly Placeholder[]>> = {
  subject: [],
  text: [],
  html: ['brand_color', 'brand_text_color', 'logo'],
}

export function placeholdersOf(kind: MailKind, part: MailPart): readonly Placeholder[] {
  // Notifications and mail logs show the subject, so the link, which gives access to an account, is not allowed in it.
  const ofKind = part === 'subject' ? OF_KIND[kind].filter((name) => name !== 'link') : OF_KIND[kind]
  return [...OF_EVERY_MAIL, ...ofKind, ...OF_PART[part]]
}

/** A mail with a link is useless without it. */
export function requiredPlaceholder(kind: MailKind, part: MailPart): Placeholder | undefined {
  return placeholdersOf(kind, part).find((name) => name === 'link')
}

/** The name of the file that replaces a part of a mail. */
export function templateFileName(kind: MailKind, part: MailPart): string {
  return { subject: `${kind}.subject.txt`, text: `${kind}.txt`, html: `${kind}.html` }[part]
}

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
