import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Html, html } from '../../../shared/html.ts'

/** The build copies the documents beside the code. */
const FOLDERS = ['../../../docs/', '../../../../docs/'].map((path) => fileURLToPath(new URL(path, import.meta.url)))
export const DOCS_FOLDER = FOLDERS.find((folder) => existsSync(folder)) ?? FOLDERS[0] ?? ''

const INLINE = /`([^`]+)`|\*\*(.+?)\*\*|!?\[([^\]]+)\]\(([^)]+)\)/g
const DOCUMENT = /^([a-z-]+\.md)?(#[\w-]+)?$/
const FENCE = /^\s*```/
const HEADING = /^(#+) (.*)$/
const ITEM = /^\s*(?:-|\d+\.) (.*)$/
const ROW = /^\|(.*)\|$/

/** Where the console shows a document; undefined for a link that leads elsewhere. */
export type LinkTo = (file: string | undefined, anchor: string) => string | undefined

/** One line of Markdown: code, bold text and links to other documents. */
export function inlineMarkdown(text: string, linkTo: LinkTo): Html {
  let shown = html``
  let from = 0
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, bold, label = '', target = ''] = match
    shown = html`${shown}${text.slice(from, match.index)}`
    if (code !== undefined) shown = html`${shown}<code>${code}</code>`
    else if (bold !== undefined) shown = html`${shown}<strong>${inlineMarkdown(bold, linkTo)}</strong>`
    else if (!whole.startsWith('!')) shown = html`${shown}${linked(label, target, linkTo)}`
    from = match.index + whole.length
  }
  return html`${shown}${text.slice(from)}`
}

function linked(label: string, target: string, linkTo: LinkTo): Html {
  const [, file, anchor = ''] = DOCUMENT.exec(target) ?? []
  const to = DOCUMENT.test(target) ? linkTo(file, anchor) : undefined
  const content = inlineMarkdown(label, () => undefined)
  return to === undefined ? content : html`<a href="${to}">${content}</a>`
}

/** A document of this project, without its title. It knows what these documents use of Markdown, and no more. */
export function markdown(text: string, linkTo: LinkTo): { readonly title: string; readonly content: readonly Html[] } {
  const [first = '', ...lines] = text.split('\n')
  const inline = (line: string) => inlineMarkdown(line, linkTo)
  const content: Html[] = []
  while (lines.length > 0) content.push(html`${blockOf(lines, inline)}\n`)
  return { title: HEADING.exec(first)?.[2] ?? '', content }
}

/** Takes the next block from the lines. */
function blockOf(lines: string[], inline: (line: string) => Html): Html | undefined {
  const line = lines.shift() ?? ''
  const take = (belongs: (line: string) => boolean) => {
    const end = lines.findIndex((next) => !belongs(next))
    return lines.splice(0, end === -1 ? lines.length : end)
  }
  if (FENCE.test(line)) {
    const code = take((next) => !FENCE.test(next))
    lines.shift()
    return html`<pre tabindex="0">${code.join('\n')}</pre>`
  }
  if (HEADING.test(line)) return headingOf(line, inline)
  if (ROW.test(line)) return tableOf([line, ...take((next) => ROW.test(next))], inline)
  if (ITEM.test(line)) return listOf([line, ...take((next) => next.trim() !== '' && !FENCE.test(next))], inline)
  return line.trim() === '' ? undefined : html`<p>${inline([line, ...take(continues)].join(' '))}</p>`
}

function headingOf(line: string, inline: (line: string) => Html): Html {
  const [, marks = '', text = ''] = HEADING.exec(line) ?? []
  return marks.length <= 2 ? html`<h2 id="${slugOf(text)}">${inline(text)}</h2>` : html`<h3 id="${slugOf(text)}">${inline(text)}</h3>`
}

function continues(line: string): boolean {
  return line.trim() !== '' && ![FENCE, HEADING, ROW, ITEM].some((start) => start.test(line))
}

/** As GitHub names a heading. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}

function listOf(lines: readonly string[], inline: (line: string) => Html): Html {
  const items: string[] = []
  for (const line of lines) {
    const [, text] = ITEM.exec(line) ?? []
    if (text === undefined) items.push(`${items.pop() ?? ''} ${line.trim()}`)
    else items.push(text)
  }
  const entries = items.map((item) => html`<li>${inline(item)}</li>`)
  return /^\s*\d/.test(lines[0] ?? '') ? html`<ol>${entries}</ol>` : html`<ul>${entries}</ul>`
}

function tableOf(lines: readonly string[], inline: (line: string) => Html): Html {
  const cellsOf = (line: string) => (ROW.exec(line)?.[1] ?? '').split(/(?<!\\)\|/).map((cell) => inline(cell.trim().replaceAll('\\|', '|')))
  const [head = '', , ...rows] = lines
  return html`<div class="scroll" tabindex="0"><table><thead><tr>${cellsOf(head).map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cellsOf(row).map((cell) => html`<td><span class="wrap">${cell}</span></td>`)}</tr>`)}</tbody></table></div>`
}
