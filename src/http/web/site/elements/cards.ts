import type { ApiKey } from '../../../../model/api-key.ts'
import type { ListedSession } from '../../../../model/session.ts'
import { type Html, html } from '../../../../shared/html.ts'
import type { Texts } from '../../texts/texts.ts'
import { shortText } from './format.ts'

export type Cell = Html | string

export type SortLink = { readonly to: string; readonly order: 'ascending' | 'descending' | undefined }

export type Table = {
  readonly title: string
  /** For a page that has this table only: its own title says the same. */
  readonly hidesTitle?: boolean
  readonly heads: readonly string[]
  /** Links that sort the list, by the names of their columns. */
  readonly sorts?: Readonly<Record<string, SortLink>> | undefined
  /** One cell for each head and, with actions, one more. */
  readonly rows: readonly (readonly Cell[])[]
  /** The name of the column with the actions. Only screen readers need it. */
  readonly actions?: string | undefined
  /** Shown in place of a table without rows. */
  readonly empty: Html
  /** Beside the title, or in its place. */
  readonly header?: Html | undefined
  readonly footer?: Html | undefined
}

/** A table in a card. On a phone each row is a block, and each cell carries the name of its column. */
export function tableCard({ title, hidesTitle = false, heads, sorts = {}, rows, actions, empty, header, footer }: Table): Html {
  const id = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  return html`<section class="card flush" aria-labelledby="${id}"><header${hidesTitle && !header ? html` class="hidden"` : ''}><h2 id="${id}"${hidesTitle ? html` class="hidden"` : ''}>${title}</h2>${header}</header>
${rows.length === 0 ? empty : table({ id, heads, sorts, rows, actions })}${footer}
</section>`
}

function table({
  id,
  heads,
  sorts = {},
  rows,
  actions,
}: Pick<Table, 'heads' | 'sorts' | 'rows' | 'actions'> & { readonly id: string }): Html {
  return html`<div class="scroll"><table aria-labelledby="${id}">
<thead><tr>${heads.map((head) => headCell(head, sorts[head]))}${actions === undefined ? '' : html`<th scope="col"><span class="hidden">${actions}</span></th>`}</tr></thead>
<tbody>
${rows.map((cells) => html`<tr>${cells.map((cell, place) => html`<td${attributeOf(heads, place)}>${cell}</td>`)}</tr>`)}
</tbody></table></div>`
}

function headCell(head: string, sort: SortLink | undefined): Html {
  if (sort === undefined) return html`<th scope="col">${head}</th>`
  const { to, order } = sort
  const arrow = order === undefined ? '' : html`<span aria-hidden="true"> ${order === 'ascending' ? '↑' : '↓'}</span>`
  return html`<th scope="col"${order === undefined ? '' : html` aria-sort="${order}"`}><a href="${to}">${head}${arrow}</a></th>`
}

/** The first cell names the row, and that of the actions needs no name. */
function attributeOf(heads: readonly string[], place: number): Html | undefined {
  const head = heads[place]
  if (head === undefined) return html` class="act"`
  return place === 0 ? undefined : html` data-label="${head}"`
}

export function badge(kind: '' | 'good' | 'bad' | 'warn', text: string): Html {
  return html`<span class="badge${kind === '' ? '' : ` ${kind}`}">${text}</span>`
}

/** Says that there is nothing, and why. */
export function emptyState(title: string, text: Cell, more?: Html): Html {
  return html`<div class="empty"><strong>${title}</strong><p>${text}</p>${more}</div>`
}

/** The first cell of a row: what it is about, and a second line. */
export function mainCell(text: Cell, detail: Cell, href?: string): Html {
  const main = href === undefined ? html`<span class="main">${text}</span>` : html`<a class="main" href="${href}">${text}</a>`
  return html`${main}<span class="quiet">${detail}</span>`
}

/** A label and its value, for a list of class `strip`. */
export function fact(label: string, value: Cell): Html {
  return html`<div><dt>${label}</dt><dd>${value}</dd></div>`
}

/** Something that has not happened, or will not. */
export function never({ keys }: Texts): Html {
  return html`<span class="quiet">${keys.never}</span>`
}

/** Links to the parts of a list, one of which is shown. */
export function tabs(label: string, entries: readonly { readonly to: string; readonly text: string; readonly isShown: boolean }[]): Html {
  const tab = ({ to, text, isShown }: (typeof entries)[number]) =>
    html`<li><a href="${to}"${isShown ? html` aria-current="page"` : ''}>${text}</a></li>`
  return html`<nav aria-label="${label}"><ul class="tabs">${entries.map(tab)}</ul></nav>`
}

/** Whether a key works now. */
export function keyBadge({ keys }: Texts, { isActive, expiresAt }: ApiKey, now: number): Html {
  if (!isActive) return badge('bad', keys.disabled)
  return expiresAt !== undefined && expiresAt <= now ? badge('warn', keys.expired) : badge('good', keys.active)
}

/** The beginning of the secret or, for a key of an older version, of the id. */
export function keyPrefix({ prefix, id }: ApiKey): Html {
  return html`<span class="mono">${prefix === undefined ? id.slice(0, 8) : `${prefix}…`}</span>`
}

/** The cells for Created, Expires and Last used. */
export function keyTimes(texts: Texts, { createdAt, expiresAt, lastUsedAt }: ApiKey, now: number): readonly Html[] {
  const { ageOf, dateOf } = texts.format
  const expires = expiresAt === undefined ? never(texts) : dateOf(expiresAt)
  return [dateOf(createdAt), expires, lastUsedAt === undefined ? never(texts) : ageOf(lastUsedAt, now)]
}

/** The cells for the columns of `texts.keys.heads`. */
export function keyCells(texts: Texts, key: ApiKey, now: number, href?: string): readonly Cell[] {
  const name = mainCell(shortText(key.name), keyPrefix(key), href)
  return [name, keyBadge(texts, key, now), texts.keys.access[key.access], ...keyTimes(texts, key, now)]
}

/** How a session was opened. A passkey is a second factor already. */
function openedWith({ sessions }: Texts, { method, secondFactor }: ListedSession): string {
  const names: Readonly<Record<string, string>> = sessions.methods
  const name = names[method] ?? shortText(method)
  return secondFactor && method !== 'passkey' ? sessions.withFactor(name) : name
}

/** The cells for the columns of `texts.sessions.heads`. */
export function sessionCells(texts: Texts, session: ListedSession, now: number, unknownIp: string): readonly Cell[] {
  const { ip, userAgent, createdAt, lastSeenAt } = session
  const { ageOf } = texts.format
  return [mainCell(clientOf(texts, userAgent), ip ?? unknownIp), openedWith(texts, session), ageOf(createdAt, now), ageOf(lastSeenAt, now)]
}

type SplitCard = {
  readonly id: string
  readonly title: string
  readonly text: string
  /** For a field that the text describes. */
  readonly textId?: string
  readonly content: Html
}

/** A card that says what its form does, beside the form. */
export function splitCard({ id, title, text, textId, content }: SplitCard): Html {
  return html`<section class="card split" aria-labelledby="${id}"><header><h2 id="${id}">${title}</h2>
<p class="quiet"${textId === undefined ? '' : html` id="${textId}"`}>${text}</p></header>
${content}</section>`
}

type Question = {
  readonly action: string
  readonly verb: string
  readonly question: Html
  readonly isCalm?: boolean
  /** For a row of a table. */
  readonly isSmall?: boolean
}

/** A button that asks before it does something that cannot be undone. A calm one takes nothing away for good. */
export function askedForm({ action, verb, question, isCalm = false, isSmall = false }: Question): Html {
  const look = isCalm ? '' : ' danger'
  return html`<details class="confirm"><summary class="button${look}${isSmall ? ' small' : ''}">${verb}…</summary>
<form method="post" action="${action}"><p>${question}</p><button class="primary${look}">${verb}</button></form>
</details>`
}

type DeletionCard = Pick<SplitCard, 'title' | 'text'> & Pick<Question, 'action' | 'verb' | 'question'>

/** Deletes something for good, with a second click. */
export function deletionCard({ title, text, action, verb, question }: DeletionCard): Html {
  const content = askedForm({ action, verb, question })
  return splitCard({ id: 'deletion', title, text, content })
}

const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bLinux\b/, 'Linux'],
]

/** `Firefox on Linux`, as far as a user agent says so, with all of it in its title. It is what the client claims, no more. */
function clientOf({ sessions }: Texts, userAgent: string | undefined): Html {
  if (userAgent === undefined) return html`${sessions.unknownClient}`
  const nameIn = (names: typeof BROWSERS) => names.find(([pattern]) => pattern.test(userAgent))?.[1]
  const [browser, system] = [nameIn(BROWSERS), nameIn(SYSTEMS)]
  if (browser === undefined) return html`${shortText(userAgent)}`
  return html`<span title="${shortText(userAgent)}">${system === undefined ? browser : sessions.client(browser, system)}</span>`
}
