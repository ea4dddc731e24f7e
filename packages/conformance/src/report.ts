import { areaOf, describeSection, sectionName } from './check.ts'
import { ALL_CHECKS } from './checks/all-checks.ts'
import type { Outcome, Result, Run } from './run.ts'

const COLOURS: Readonly<Record<Outcome, Colour>> = { passed: 'green', failed: 'red', differs: 'yellow', skipped: 'yellow' }
const INDENT = ' '.repeat(9)

/** A line in parts. One that has a colour shows it on a terminal only. The caller escapes what a foreign service has answered. */
export type Line = string | readonly (string | { readonly colour: Colour; readonly text: string })[]
type Colour = 'red' | 'green' | 'yellow'

export function count({ results }: Run, outcome: Outcome): number {
  return results.filter((result) => result.outcome === outcome).length
}

export function isConforming(run: Run): boolean {
  return count(run, 'failed') === 0 && run.accounts.left.length === 0
}

/** A line for each area, with its failures and differences below it, then the skipped checks and the counts. */
export function reportText(run: Run): Line[] {
  const areas = Map.groupBy(run.results, ({ check }) => areaOf(check))
  const lines = [...areas].flatMap(([area, results]): Line[] => {
    const outcome = verdictOf(results)
    const passed = results.filter((result) => result.outcome === 'passed').length
    return [
      [{ colour: COLOURS[outcome], text: outcome.padEnd(7) }, `  ${area.padEnd(14)}  ${passed} of ${results.length}`],
      ...results.filter(isNotable).flatMap(describeResult),
    ]
  })
  return [`${run.url}: ${counted(run.results.length, 'check')}`, '', ...lines, ...describeSkipped(run.results), '', summary(run)]
}

/** "1 check", "2 checks" */
function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** The statements of the specification that are checked, by section. */
export function describeChecks(): string[] {
  const sections = Map.groupBy(ALL_CHECKS, ({ section }) => section.split(' ')[0] ?? '')
  const inOrder = [...sections].sort(([one], [other]) => one.localeCompare(other, 'en', { numeric: true }))
  return inOrder.flatMap(([section, checks]) => [
    `§${section} ${sectionName(section)}`,
    ...checks.map(({ id, title, level, needsMailbox }) => {
      const notes = [...(level === 'choice' ? ['choice'] : []), ...(needsMailbox ? ['needs a mailbox'] : [])]
      return `  ${id}: ${title}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`
    }),
  ])
}

function verdictOf(results: readonly Result[]): Outcome {
  const outcomes = new Set(results.map(({ outcome }) => outcome))
  return (['failed', 'differs', 'passed'] as const).find((outcome) => outcomes.has(outcome)) ?? 'skipped'
}

function isNotable({ outcome }: Result): boolean {
  return outcome === 'failed' || outcome === 'differs'
}

function describeResult({ check, outcome, reason, expected, received, exchange }: Result): Line[] {
  const details = [
    ...(reason === undefined ? [] : [reason]),
    ...(expected === undefined ? [] : [`expected  ${expected}`, `received  ${received}`]),
    ...(exchange === undefined ? [] : [`request   ${exchange.request}`, `response  ${exchange.response}`]),
  ]
  return [
    ['  ', { colour: COLOURS[outcome], text: outcome }, `  ${check.id}  (${describeSection(check.section)}) ${check.title}`],
    ...details.map((line) => INDENT + line),
  ]
}

function describeSkipped(results: readonly Result[]): string[] {
  const skipped = Map.groupBy(
    results.filter(({ outcome }) => outcome === 'skipped'),
    ({ reason }) => reason ?? '',
  )
  return [...skipped].flatMap(([reason, group]) => ['', `skipped (${reason}): ${group.map(({ check }) => check.id).join(', ')}`])
}

function summary(run: Run): Line {
  const counts = (['passed', 'failed', 'differs', 'skipped'] as const).map(
    (outcome) => `${count(run, outcome)} ${outcome === 'differs' ? 'differ' : outcome}`,
  )
  const { created, left } = run.accounts
  const accounts = `${counted(created, 'account')} created, ${left.length === 0 ? 'all' : created - left.length} removed`
  const colour = COLOURS[isConforming(run) ? 'passed' : 'failed']
  return [{ colour, text: counts.join(', ') }, ` in ${(run.durationMs / 1000).toFixed(1)} s; ${accounts}`]
}

export function reportJson(run: Run): object {
  return {
    url: run.url,
    conforms: isConforming(run),
    duration_ms: Math.round(run.durationMs),
    passed: count(run, 'passed'),
    failed: count(run, 'failed'),
    differs: count(run, 'differs'),
    skipped: count(run, 'skipped'),
    accounts_created: run.accounts.created,
    accounts_left: run.accounts.left,
    checks: run.results.map(({ check, outcome, durationMs, reason, expected, received, exchange }) => ({
      id: check.id,
      area: areaOf(check),
      section: check.section,
      title: check.title,
      level: check.level,
      needs_mailbox: check.needsMailbox,
      outcome,
      duration_ms: Math.round(durationMs),
      ...(reason !== undefined && { reason }),
      ...(expected !== undefined && { expected, received }),
      ...exchange,
    })),
  }
}
