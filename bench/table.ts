import { type Figure, type Section, verdictOn } from './figures.ts'

export type Machine = {
  readonly processor: string
  readonly cores: number
  readonly memoryGb: number
  readonly system: string
  readonly node: string
  readonly generator: string
}

/** All results as Markdown tables. */
export function tableOf(machine: Machine, sections: readonly Section[]): string {
  const { processor, cores, memoryGb, system, node, generator } = machine
  const head = `Measured on ${processor}, ${cores} cores, ${memoryGb} GB, ${system}, Node ${node}, load from ${generator}. All figures are from one run.`
  return `${[head, ...sections.map(sectionTable)].join('\n\n')}\n`
}

function sectionTable({ title, how, figures }: Section): string {
  const rows = figures.map((figure) => [figure.name, measured(figure), target(figure), verdict(figure)])
  const cells = [['Metric', 'Measured', 'Target', 'Met'], ...rows]
  const widths = [0, 1, 2, 3].map((place) => Math.max(...cells.map((row) => row[place]?.length ?? 0)))
  const lines = cells.map((row) => `| ${row.map((cell, place) => cell.padEnd(widths[place] ?? 0)).join(' | ')} |`)
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`
  return [`## ${title}`, '', how, '', lines[0], rule, ...lines.slice(1)].join('\n')
}

function measured({ value, unit, spread }: Figure): string {
  // A search that gets 503 at its deadline counts as infinitely slow.
  if (value === Number.POSITIVE_INFINITY) return 'over 2 s: 503'
  if (!Number.isFinite(value)) return 'unknown'
  return `${shown(value)} ${unit}${spread ? ` (${spread.map(shown).join(' to ')})` : ''}`.trim()
}

function shown(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: digits })
}

function target({ atLeast, atMost, unit }: Figure): string {
  if (atLeast !== undefined) return `at least ${atLeast} ${unit}`.trim()
  return atMost === undefined ? '' : `at most ${atMost} ${unit}`.trim()
}

const VERDICTS = { yes: 'yes', unclear: 'within the noise', no: 'NO' } as const

function verdict(figure: Figure): string {
  const found = verdictOn(figure)
  return found === undefined ? '' : VERDICTS[found]
}
