import { counted, printable, printableJson } from '../../shared/text.ts'

// The command line writes here and nowhere else. Text may come from users, files and foreign servers, so all of it is escaped here:
// only the line breaks, colours and cursor movements of this module reach a terminal.

export const JSON_OPTION = ['--json', 'print JSON, for scripts'] as const
export type JsonOption = { readonly json?: true }

const COLOURS = { red: 31, green: 32, yellow: 33 } as const
const CLEAR_LINE = '\r\u001b[K'

export type Colour = keyof typeof COLOURS
/** A line in parts. One that has a colour shows it on a terminal only. */
export type Line = string | readonly (string | { readonly colour: Colour; readonly text: string })[]

/** Results go to standard output; questions, progress and errors go to standard error. */
export function print(line: Line): void {
  process.stdout.write(`${render(line, { isColoured: isTerminal() && !process.env['NO_COLOR'] })}\n`)
}

export function render(line: Line, { isColoured }: { readonly isColoured: boolean }): string {
  const parts = typeof line === 'string' ? [line] : line
  const shown = parts.map((part) => {
    if (typeof part === 'string') return printable(part)
    return isColoured ? `\u001b[${COLOURS[part.colour]}m${printable(part.text)}\u001b[0m` : printable(part.text)
  })
  return shown.join('')
}

export function printJson(value: unknown, indent?: number): void {
  process.stdout.write(`${jsonText(value, indent)}\n`)
}

/** Prints the result of a command: a JSON value for scripts, or lines for people. */
export function printResult({ json }: JsonOption, value: object, ...lines: readonly string[]): void {
  if (json) printJson(value)
  else lines.forEach(print)
}

/** Prints one JSON object per line. Waits while the reader is slower than the database. */
export async function printJsonLines(items: readonly object[]): Promise<void> {
  const text = items.map((item) => `${jsonText(item)}\n`).join('')
  await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()))
}

export function jsonText(value: unknown, indent?: number): string {
  return printableJson(JSON.stringify(value, undefined, indent))
}

export function printError(line: string): void {
  printNote(`latchkey: ${line}`)
}

/** A line that is neither a result nor an error. */
export function printNote(line: string): void {
  process.stderr.write(`${printable(line)}\n`)
}

/** Standard output is a terminal, not a file or a pipe. */
export function isTerminal(): boolean {
  return process.stdout.isTTY
}

export function onOutputError(listener: (error: Error) => void): void {
  process.stdout.on('error', listener)
}

/** A line of standard error that is drawn again and again. */
export type RedrawnLine = { readonly isTTY?: boolean; redraw(text: string): unknown }

export const progressLine: RedrawnLine = {
  get isTTY() {
    return process.stderr.isTTY
  },
  redraw: (text) => process.stderr.write(overwriting(text)),
}

export function overwriting(text: string): string {
  return CLEAR_LINE + printable(text)
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** Says what a database contains. */
export function contents({ users = 0, sessions = 0, api_keys: keys = 0, outbox = 0 }: Readonly<Record<string, number>>): string {
  return `${counted(users, 'user')}, ${counted(sessions, 'session')}, ${counted(keys, 'API key')}, ${counted(outbox, 'mail')} in the outbox`
}

/** A table has a heading and a text for each column; JSON has the names and values of the API. */
export type Format<Item> = {
  readonly columns: Readonly<Record<string, (item: Item) => string>>
  readonly json: (item: Item) => object
}

/** A list that may arrive page by page. */
type Pages<Item> = AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>

export async function printOne<Item>(format: Format<Item>, item: Item, { json }: JsonOption): Promise<void> {
  if (json) printJson(format.json(item))
  else await printTable(format.columns, [[item]])
}

export function printList<Item>(format: Format<Item>, pages: Pages<Item>, { json }: JsonOption): Promise<void> {
  return json ? printJsonList(format.json, pages) : printTable(format.columns, pages)
}

export async function printJsonList<Item>(json: (item: Item) => object, pages: Pages<Item>): Promise<void> {
  let separator = '['
  for await (const page of pages) {
    process.stdout.write(separator + page.map((item) => jsonText(json(item))).join(',\n'))
    separator = ',\n'
  }
  print(separator === '[' ? '[]' : ']')
}

/** The first page sets the column widths, so that a long list is printed as it arrives and is not kept in memory. */
export async function printTable<Item>(columns: Format<Item>['columns'], pages: Pages<Item>): Promise<void> {
  const headings = Object.keys(columns)
  const cellsOf = (item: Item) => Object.values(columns).map((text) => printable(text(item)))
  let widths: number[] | undefined
  for await (const page of pages) {
    const rows = page.map(cellsOf)
    if (widths === undefined) rows.unshift(headings)
    widths ??= widthsOf(rows)
    for (const row of rows) printRow(row, widths)
  }
  if (widths === undefined) printRow(headings, [])
}

function printRow(cells: readonly string[], widths: readonly number[]): void {
  const padded = cells.map((cell, column) => padText(cell, widths[column] ?? 0))
  print(padded.join('  ').trimEnd())
}

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const columns = rows[0]?.map((_, column) => rows.map((row) => textWidth(row[column] ?? ''))) ?? []
  return columns.map((widths) => Math.max(...widths))
}

const ASCII = /^[\x20-\x7e]*$/
// Created when it is needed, because that takes 20 ms.
let graphemes: Intl.Segmenter | undefined
// Combining marks, format characters and the vowels and final consonants of a composed Hangul syllable.
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u1160-\u11ff\ud7b0-\ud7fb]/u
// The blocks whose characters are Wide or Fullwidth in Unicode's EastAsianWidth.txt.
const WIDE =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u3247\u3250-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u
const EMOJI = /^(?:\p{Emoji_Presentation}|\p{Emoji}\ufe0f|\p{Regional_Indicator}{2})/u

/** How many columns of a terminal a text takes. An emoji or an East Asian character takes two, a combining mark none. */
export function textWidth(text: string): number {
  if (ASCII.test(text)) return text.length
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment)
  return width
}

/** An emoji may be made of several characters and is drawn as one. Other characters are drawn one by one. */
function graphemeWidth(grapheme: string): number {
  if (EMOJI.test(grapheme)) return 2
  let width = 0
  for (const character of grapheme) width += INVISIBLE.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return width
}

export function padText(text: string, toWidth: number): string {
  return text + ' '.repeat(Math.max(0, toWidth - textWidth(text)))
}

const EXCERPT_LENGTH = 100

/** The beginning of a text. */
export function excerpt(text: string): string {
  return text.length > EXCERPT_LENGTH ? `${text.slice(0, EXCERPT_LENGTH)}…` : text
}
