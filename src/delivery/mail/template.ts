import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ALL_LANGUAGES, isLanguage, type Language } from '../../model/language.ts'
import { isNoticeKind, MAIL_KINDS, type MailKind } from '../../model/mail.ts'
import { explainUnreadable } from '../../shared/errors.ts'
import { html, renderHtml } from '../../shared/html.ts'

export const MAIL_PARTS = ['subject', 'text', 'html'] as const

export type MailPart = (typeof MAIL_PARTS)[number]

const OF_EVERY_MAIL = ['title', 'first_name', 'last_name', 'email'] as const
const OF_LINK = ['link', 'lifetime'] as const
const OF_NOTICE = ['time'] as const
const OF_HTML = ['brand_color', 'brand_text_color', 'logo'] as const

/** What a template can contain, written as `{{name}}`. */
type Placeholder = (typeof OF_EVERY_MAIL | typeof OF_LINK | typeof OF_NOTICE | typeof OF_HTML)[number] | 'code' | 'keys'

/** What a mail of this kind has besides. */
function ownPlaceholders(kind: MailKind): readonly Placeholder[] {
  if (kind === 'sign_in') return [...OF_LINK, 'code']
  if (kind === 'key_leaked') return [...OF_NOTICE, 'keys']
  return isNoticeKind(kind) ? OF_NOTICE : OF_LINK
}

/** The values of one mail, as plain text. */
export type PlaceholderValues = Readonly<Partial<Record<Placeholder, string>>>

export function placeholdersOf(kind: MailKind, part: MailPart): readonly Placeholder[] {
  // Notifications and mail logs show the subject, so the link and the code, which give access to an account, are not allowed in it.
  const own = ownPlaceholders(kind).filter((name) => part !== 'subject' || (name !== 'link' && name !== 'code'))
  return [...OF_EVERY_MAIL, ...own, ...(part === 'html' ? OF_HTML : [])]
}

export function templateFileName(kind: MailKind, part: MailPart): string {
  return { subject: `${kind}.subject.txt`, text: `${kind}.txt`, html: `${kind}.html` }[part]
}

/** A template that was checked: text, and the placeholders between it. */
type Template = readonly (string | { readonly placeholder: Placeholder })[]

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

function fill(template: Template, values: PlaceholderValues, write: (value: string) => string): string {
  return template.map((item) => (typeof item === 'string' ? item : write(values[item.placeholder] ?? ''))).join('')
}

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

/** Reads the text of a template file, and reports everything that is wrong with it. Lines are counted from 1. */
export function parseTemplate(source: string, use: TemplateUse) {
  const text = use.part === 'subject' ? source.replace(/\n+$/, '') : source
  const { template, found } = readPlaceholders(text, use)
  // A mail with a link is useless without it.
  const isMissing =
    placeholdersOf(use.kind, use.part).includes('link') && !template.some((item) => typeof item === 'object' && item.placeholder === 'link')
  if (isMissing) found.push({ at: 0, message: '{{link}} is missing' })
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
  if (name === 'link' && ownPlaceholders(kind).includes('link'))
    return 'the subject should not contain {{link}}: notifications and mail logs show it'
  return `unknown placeholder {{${name}}}; this file can have ${allowed.map((placeholder) => `{{${placeholder}}}`).join(', ')}`
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

type TemplatesOfMail = Readonly<Partial<Record<MailPart, Template>>>
type TemplatesOfFolder = Readonly<Partial<Record<MailKind, TemplatesOfMail>>>

/**
 * The templates of the operator, by kind and part of a mail, for every language, and those for one. A part without a template keeps its
 * built-in text.
 */
export type Templates = TemplatesOfFolder & Readonly<Partial<Record<Language, TemplatesOfFolder>>>

/** The templates of a mail: those for its language come first. `isInLanguage`: whether none is used that is for every language. */
export function templatesFor(templates: Templates, language: Language, kind: MailKind) {
  const ofLanguage = templates[language]?.[kind] ?? {}
  const common = templates[kind] ?? {}
  return { template: { ...common, ...ofLanguage }, isInLanguage: Object.keys(common).every((part) => part in ofLanguage) }
}

/** How many texts the templates replace. */
export function countTemplates(templates: Templates): number {
  const folders: readonly TemplatesOfFolder[] = [templates, ...ALL_LANGUAGES.map((language) => templates[language] ?? {})]
  return folders.flatMap((folder) => MAIL_KINDS.flatMap((kind) => Object.keys(folder[kind] ?? {}))).length
}

export const NO_TEMPLATES: Templates = {}

// Gmail cuts off longer mails.
const MAX_BYTES = 102_400
const FILES = MAIL_KINDS.flatMap((kind) => MAIL_PARTS.map((part) => ({ kind, part, name: templateFileName(kind, part) })))

type OpenOptions = { readonly hasLogo: boolean }

/** Reads the files of TEMPLATES_DIR and of its folders for one language. The errors are one line each and begin with the file and the line. */
export async function openTemplates(folder: string, options: OpenOptions): Promise<{ templates: Templates; errors: readonly string[] }> {
  const errors: string[] = []
  const names = await namesIn(folder, errors)
  const files = names.filter((name) => !isLanguage(name))
  let templates: Templates = await openFolder(folder, files, options, errors)
  for (const language of names.filter(isLanguage)) {
    const inside = join(folder, language)
    templates = { ...templates, [language]: await openFolder(inside, await namesIn(inside, errors), options, errors) }
  }
  return { templates, errors }
}

async function openFolder(folder: string, names: readonly string[], { hasLogo }: OpenOptions, errors: string[]) {
  const templates: Partial<Record<MailKind, Partial<Record<MailPart, Template>>>> = {}
  for (const name of names) {
    const file = join(folder, name)
    const found = FILES.find((candidate) => candidate.name === name)
    if (found === undefined) {
      errors.push(`${file}:1: is not the name of a template; the names are ${FILES.map((known) => known.name).join(', ')}`)
      continue
    }
    const source = await readText(file).catch((error: unknown) => void errors.push(`${file}:1: ${explainUnreadable(error)}`))
    if (source === undefined) continue
    const { template, problems } = parseTemplate(source, { ...found, hasLogo })
    errors.push(...problems.map(({ line, message }) => `${file}:${line}: ${message}`))
    templates[found.kind] = { ...templates[found.kind], [found.part]: template }
  }
  return templates
}

/** Hidden files are ignored: version control, editors and mounted volumes create them. */
async function namesIn(folder: string, errors: string[]): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.')).sort()
  } catch (error) {
    errors.push(`${folder} ${explainUnreadable(error, { ENOTDIR: 'is not a folder' })}`)
    return []
  }
}

async function readText(file: string): Promise<string> {
  const found = await stat(file)
  if (!found.isFile()) throw new Error('should be a file')
  if (found.size > MAX_BYTES) throw new Error(`should have at most ${MAX_BYTES / 1024} KB, because mail programs cut off longer mails`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file)).replaceAll('\r\n', '\n')
  } catch (error) {
    if (error instanceof TypeError) throw new Error('should be UTF-8 text')
    throw error
  }
}
