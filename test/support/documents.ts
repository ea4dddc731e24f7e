import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Reads a file of the repository. */
export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** Returns the cells of each row of the first table under a heading. */
export function rows(document: string, heading: string): string[][] {
  const section = read(document).split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}
