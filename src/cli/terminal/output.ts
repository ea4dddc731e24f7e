import { counted } from '../../shared/counted.ts'
import { padText, printable, textWidth } from './text.ts'

export const JSON_OPTION = ['--json', 'print JSON, for scripts'] as const

/** Results go to standard output; questions, progress and errors go to standard error. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Says what a database contains. */
export function contents({ users = 0, sessions = 0, api_keys: keys = 0, outbox = 0 }: Readonly<Record<string, number>>): string {
  return `${counted(users, 'user')}, ${counted(sessions, 'session')}, ${counted(keys, 'API key')}, ${counted(outbox, 'mail')} in the outbox`
}

/** Prints one item, or a list that arrives in pages. */
export type Printer<Item> = { one(item: Item): void; list(pages: AsyncIterable<readonly Item[]>): Promise<void> }

/** A table has a heading and a text for each column; JSON has the names and values of the API. */
export type Format<Item> = {
  readonly columns: Readonly<Record<string, (item: Item) => string>>
  readonly json: (item: Item) => object
}

export function createPrinter<Item>({ columns, json }: Format<Item>, isJson: boolean): Printer<Item> {
  return isJson ? createJsonPrinter(json) : createTablePrinter(columns)
}

export function createJsonPrinter<Item>(json: (item: Item) => object): Printer<Item> {
  return {
    one: (item) => print(JSON.stringify(json(item))),
    async list(pages) {
      let separator = '['
      for await (const page of pages) {
        process.stdout.write(separator + page.map((item) => JSON.stringify(json(item))).join(',\n'))
        separator = ',\n'
      }
      print(separator === '[' ? '[]' : ']')
    },
  }
}

/** The first page sets the column widths, so that a long list is printed as it arrives and is not kept in memory. */
export function createTablePrinter<Item>(columns: Format<Item>['columns']): Printer<Item> {
  const headings = Object.keys(columns)
  const cellsOf = (item: Item) => Object.values(columns).map((text) => printable(text(item)))

  function printRows(rows: readonly (readonly string[])[], widths: readonly number[]): void {
    for (const row of rows)
      print(
        row
          .map((cell, column) => padText(cell, widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
      )
  }

  return {
    one(item) {
      const rows = [headings, cellsOf(item)]
      printRows(rows, widthsOf(rows))
    },
    async list(pages) {
      let widths: number[] | undefined
      for await (const page of pages) {
        const rows = widths === undefined ? [headings, ...page.map(cellsOf)] : page.map(cellsOf)
        widths ??= widthsOf(rows)
        printRows(rows, widths)
      }
      if (widths === undefined) printRows([headings], [])
    },
  }
}

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const columns = rows[0]?.map((_, column) => rows.map((row) => textWidth(row[column] ?? ''))) ?? []
  return columns.map((widths) => Math.max(...widths))
}

export async function* onePage<Item>(items: readonly Item[]): AsyncIterable<readonly Item[]> {
  yield items
}
