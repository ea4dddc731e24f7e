import { type Html, html } from '../../../../shared/html.ts'

type Cell = Html | string

export type Table = {
  readonly title: string
  /** For a page that has this table only: its own title says the same. */
  readonly hidesTitle?: boolean
  readonly heads: readonly string[]
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
export function tableCard({ title, hidesTitle = false, heads, rows, hasActions = false, empty, header, footer }: Table): Html {
  const id = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  return html`<section class="card flush" aria-labelledby="${id}"><header${hidesTitle && !header ? html` class="hidden"` : ''}><h2 id="${id}"${hidesTitle ? html` class="hidden"` : ''}>${title}</h2>${header}</header>
${rows.length === 0 ? empty : table(id, heads, rows, hasActions)}${footer}
</section>`
}

function table(id: string, heads: readonly string[], rows: Table['rows'], hasActions: boolean): Html {
  return html`<div class="scroll"><table aria-labelledby="${id}">
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}${hasActions ? html`<th scope="col"><span class="hidden">Actions</span></th>` : ''}</tr></thead>
<tbody>
${rows.map((cells) => html`<tr>${cells.map((cell, place) => html`<td${attributeOf(heads, place)}>${cell}</td>`)}</tr>`)}
</tbody></table></div>`
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
