import type { MailKind } from '../../model/mail.ts'
import { type MailPart, type Placeholder, placeholdersOf, requiredPlaceholder, type Template } from './template.ts'

/** A problem in a template file. Lines are counted from 1. */
type TemplateProblem = { readonly line: number; readonly message: string }

type ParsedTemplate = { readonly template: Template; readonly problems: readonly TemplateProblem[] }

type TemplateUse = {
  readonly kind: MailKind
  readonly part: MailPart
  /** Whether the settings name a logo that mails can show. */
  readonly hasLogo: boolean
}

type Found = { readonly at: number; readonly message: string }

const OPENING = '{{'
const PLACEHOLDER = /\{\{[ \t]*([A-Za-z0-9_.-]+)[ \t]*\}\}(?!\})/y
const SUBJECT_MAX_LENGTH = 200
const CONTROL_CHARACTER = /\p{Cc}/u

/** Reads the text of a template file, and reports everything that is wrong with it. */
export function parseTemplate(source: string, use: TemplateUse): ParsedTemplate {
  const text = use.part === 'subject' ? source.replace(/\n+$/, '') : source
  const { template, found } = readPlaceholders(text, use)
  found.push(...missing(template, use))
  if (use.part === 'subject') found.push(...findSubjectProblems(text))
  if (use.part === 'html') found.push(...findMarkupProblems(text))
  const problems = found
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, message }) => ({ line: text.slice(0, at).split('\n').length, message }))
  return { template, problems }
}

function readPlaceholders(text: string, use: TemplateUse): { template: Template; found: Found[] } {
  const allowed = placeholdersOf(use.kind, use.part)
  const template: (string | { placeholder: Placeholder })[] = []
  const found: Found[] = []
  let from = 0
  for (let at = text.indexOf(OPENING); at !== -1; at = text.indexOf(OPENING, from)) {
    PLACEHOLDER.lastIndex = at
    const [whole = OPENING, name] = PLACEHOLDER.exec(text) ?? []
    const placeholder = allowed.find((candidate) => candidate === name)
    if (placeholder === undefined) found.push({ at, message: explain(name, use, allowed) })
    else if (placeholder === 'logo' && !use.hasLogo)
      found.push({ at, message: '{{logo}} requires BRAND_LOGO to be a PNG file, because mail programs do not show SVG' })
    else template.push(text.slice(from, at), { placeholder })
    from = at + whole.length
  }
  template.push(text.slice(from))
  return { template: template.filter((item) => item !== ''), found }
}

function explain(name: string | undefined, { kind }: TemplateUse, allowed: readonly Placeholder[]): string {
  if (name === undefined) return 'a placeholder should be a name between two braces on each side, such as {{first_name}}'
  if (name === 'link' && requiredPlaceholder(kind, 'text') === 'link')
    return 'the subject should not contain {{link}}: notifications and mail logs show it'
  return `unknown placeholder {{${name}}}; this file can have ${allowed.map((placeholder) => `{{${placeholder}}}`).join(', ')}`
}

function missing(template: Template, { kind, part }: TemplateUse): Found[] {
  const required = requiredPlaceholder(kind, part)
  const isThere = template.some((item) => typeof item === 'object' && item.placeholder === required)
  return required === undefined || isThere ? [] : [{ at: 0, message: `{{${required}}} is missing` }]
}

function findSubjectProblems(text: string): Found[] {
  if (text.trim() === '') return [{ at: 0, message: 'the subject is empty' }]
  const lineBreak = text.indexOf('\n')
  if (lineBreak !== -1) return [{ at: lineBreak + 1, message: 'the subject should be one line' }]
  const control = CONTROL_CHARACTER.exec(text)
  if (control) return [{ at: control.index, message: 'the subject should not contain control characters' }]
  return text.length > SUBJECT_MAX_LENGTH ? [{ at: 0, message: `the subject should have at most ${SUBJECT_MAX_LENGTH} characters` }] : []
}

// A comment, an element whose content is not markup, or a tag with its quoted attributes.
const MARKUP = /<!--[\s\S]*?(?:-->|$)|<(style|script)\b[\s\S]*?(?:<\/\1\s*>|$)|<\/?[a-z](?:"[^"]*"|'[^']*'|[^"'>])*(?:>|$)/gi
const ATTRIBUTE = /([^\s"'<>=/]+)\s*=\s*("[^"]*"|'[^']*')/g
const ANY_PLACEHOLDER = /\{\{\s*([a-z_]+)\s*\}\}/g
const URL_ATTRIBUTE = /^(?:href|src|action|formaction|background|poster|srcset|xlink:href)$/i
const EVENT_ATTRIBUTE = /^on/i
const URLS: readonly string[] = ['link', 'logo']
const COLORS: readonly string[] = ['brand_color', 'brand_text_color']

/** Reports placeholders in places where escaping does not protect against the value, such as an attribute without quotes. */
function findMarkupProblems(source: string): readonly Found[] {
  return [...source.matchAll(MARKUP)].flatMap(({ 0: markup, 1: element, index }) => {
    const name = element?.toLowerCase()
    if (name === 'script') return [{ at: index, message: 'should not contain a script: mail programs do not run it' }]
    if (name === 'style') return misplaced(markup, index, COLORS, 'a style sheet')
    if (markup.startsWith('<!--')) return misplaced(markup, index, [], 'a comment')
    return findTagProblems(markup, index)
  })
}

function findTagProblems(tag: string, start: number): Found[] {
  const found: Found[] = []
  // The quoted values are replaced by spaces, so that what remains is not in quotes.
  let unquoted = tag
  for (const { 0: attribute, 1: name = '', 2: value = '', index } of tag.matchAll(ATTRIBUTE)) {
    unquoted = unquoted.slice(0, index) + ' '.repeat(attribute.length) + unquoted.slice(index + attribute.length)
    const at = start + index
    if (EVENT_ATTRIBUTE.test(name)) found.push(...misplaced(attribute, at, [], `the attribute ${name}`))
    const [, first] = /^["']\s*\{\{\s*([a-z_]+)/.exec(value) ?? []
    if (URL_ATTRIBUTE.test(name) && first !== undefined && !URLS.includes(first))
      found.push({ at, message: `{{${first}}} is not an address and should not begin the attribute ${name}` })
  }
  return [...found, ...misplaced(unquoted, start, [], 'a tag, outside of the quotes of an attribute')]
}

function misplaced(text: string, start: number, allowed: readonly string[], place: string): Found[] {
  return [...text.matchAll(ANY_PLACEHOLDER)]
    .filter(([, name = '']) => !allowed.includes(name))
    .map(({ 0: placeholder, index }) => ({ at: start + index, message: `${placeholder} should not be in ${place}` }))
}
