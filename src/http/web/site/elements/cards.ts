import type { ApiKey } from '../../../../model/api-key.ts'
import type { ListedSession } from '../../../../model/session.ts'
import { type Html, html } from '../../../../shared/html.ts'
import { ageOf, clientOf, dateOf, shortText } from './format.ts'

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
  readonly hasActions?: boolean
  /** Shown in place of a table without rows. */
  readonly empty: Html
  /** Beside the title, or in its place. */
  readonly header?: Html | undefined
  readonly footer?: Html | undefined
}

/** A table in a card. On a phone each row is a block, and each cell carries the name of its column. */
export function tableCard({ title, hidesTitle = false, heads, sorts = {}, rows, hasActions = false, empty, header, footer }: Table): Html {
  const id = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  return html`<section class="card flush" aria-labelledby="${id}"><header${hidesTitle && !header ? html` class="hidden"` : ''}><h2 id="${id}"${hidesTitle ? html` class="hidden"` : ''}>${title}</h2>${header}</header>
${rows.length === 0 ? empty : table({ id, heads, sorts, rows, hasActions })}${footer}
</section>`
}

function table({
  id,
  heads,
  sorts = {},
  rows,
  hasActions,
}: Pick<Table, 'heads' | 'sorts' | 'rows' | 'hasActions'> & { readonly id: string }): Html {
  return html`<div class="scroll"><table aria-labelledby="${id}">
<thead><tr>${heads.map((head) => headCell(head, sorts[head]))}${hasActions ? html`<th scope="col"><span class="hidden">Actions</span></th>` : ''}</tr></thead>
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

export const NEVER: Html = html`<span class="quiet">never</span>`

/** Links to the parts of a list, one of which is shown. */
export function tabs(label: string, entries: readonly { readonly to: string; readonly text: string; readonly isShown: boolean }[]): Html {
  const tab = ({ to, text, isShown }: (typeof entries)[number]) =>
    html`<li><a href="${to}"${isShown ? html` aria-current="page"` : ''}>${text}</a></li>`
  return html`<nav aria-label="${label}"><ul class="tabs">${entries.map(tab)}</ul></nav>`
}

/** Whether a key works now. */
export function keyBadge({ isActive, expiresAt }: ApiKey, now: number): Html {
  if (!isActive) return badge('bad', 'Disabled')
  return expiresAt !== undefined && expiresAt <= now ? badge('warn', 'Expired') : badge('good', 'Active')
}

/** The beginning of the secret or, for a key of an older version, of the id. */
export function keyPrefix({ prefix, id }: ApiKey): Html {
  return html`<span class="mono">${prefix === undefined ? id.slice(0, 8) : `${prefix}…`}</span>`
}

/** The cells for Created, Expires and Last used. */
export function keyTimes({ createdAt, expiresAt, lastUsedAt }: ApiKey, now: number): readonly Html[] {
  const expires = expiresAt === undefined ? NEVER : dateOf(expiresAt)
  return [dateOf(createdAt), expires, lastUsedAt === undefined ? NEVER : ageOf(lastUsedAt, now)]
}

export const KEY_HEADS = ['API key', 'Status', 'Access', 'Created', 'Expires', 'Last used']

export function keyCells(key: ApiKey, now: number, href?: string): readonly Cell[] {
  return [mainCell(shortText(key.name), keyPrefix(key), href), keyBadge(key, now), key.access, ...keyTimes(key, now)]
}

export const SESSION_HEADS = ['Client', 'Opened with', 'Signed in', 'Last seen']
const METHODS: Readonly<Record<string, string>> = { password: 'Password', passkey: 'Passkey', email: 'Email' }

/** How a session was opened. A passkey is a second factor already. */
function openedWith({ method, secondFactor }: ListedSession): string {
  const name = METHODS[method] ?? shortText(method)
  return secondFactor && method !== 'passkey' ? `${name} and second factor` : name
}

export function sessionCells(session: ListedSession, now: number, unknownIp: string): readonly Cell[] {
  const { ip, userAgent, createdAt, lastSeenAt } = session
  return [mainCell(clientOf(userAgent), ip ?? unknownIp), openedWith(session), ageOf(createdAt, now), ageOf(lastSeenAt, now)]
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
  return html`<details class="confirm${isCalm ? ' calm' : ''}${isSmall ? ' small' : ''}"><summary>${verb}…</summary>
<form method="post" action="${action}"><p>${question}</p><button class="${isCalm ? 'primary' : 'danger'}">${verb}</button></form>
</details>`
}

type DeletionCard = Pick<SplitCard, 'title' | 'text'> & { readonly action: string; readonly name: string; readonly verb?: string }

/** Deletes something for good, with a second click. */
export function deletionCard({ title, text, action, name, verb = 'Delete' }: DeletionCard): Html {
  const content = askedForm({ action, verb, question: html`${verb} <strong>${name}</strong> for good?` })
  return splitCard({ id: 'deletion', title, text, content })
}
