import { areaOf, describeSection } from './check.ts'
import type { Result, Run } from './run.ts'

/** The results as CI systems read them: one suite for each area. A difference is a test that passes, with a note. */
export function reportJunit(run: Run): string {
  const areas = Map.groupBy(run.results, ({ check }) => areaOf(check))
  const suites = [...areas].map(([area, results]) => suite(area, results))
  if (run.accounts.left.length > 0) suites.push(leftovers(run.accounts.left))
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="conformance" ${totals(run.results)}>`,
    ...suites,
    '</testsuites>',
  ].join('\n')
}

function suite(area: string, results: readonly Result[]): string {
  return [`  <testsuite name="${escaped(area)}" ${totals(results)}>`, ...results.map(testcase), '  </testsuite>'].join('\n')
}

function totals(results: readonly Result[]): string {
  const count = (outcome: Result['outcome']) => results.filter((result) => result.outcome === outcome).length
  const seconds = results.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1000
  return `tests="${results.length}" failures="${count('failed')}" errors="0" skipped="${count('skipped')}" time="${seconds.toFixed(3)}"`
}

function testcase(result: Result): string {
  const { check, outcome, durationMs, reason = '' } = result
  const opening = `    <testcase classname="${escaped(areaOf(check))}" name="${escaped(`${check.id}: ${check.title}`)}" time="${(durationMs / 1000).toFixed(3)}"`
  if (outcome === 'passed') return `${opening}/>`
  return `${opening}>${note(result, reason)}</testcase>`
}

function note(result: Result, reason: string): string {
  if (result.outcome === 'skipped') return `<skipped message="${escaped(reason)}"/>`
  if (result.outcome === 'differs') return `<system-out>differs: ${details(result)}</system-out>`
  const message = result.expected === undefined ? reason : `expected ${result.expected}, received ${result.received}`
  return `<failure message="${escaped(message)}" type="${result.check.level}">${details(result)}</failure>`
}

function details({ check, reason, expected, received, exchange }: Result): string {
  const lines = [
    describeSection(check.section),
    reason,
    expected && `expected ${expected}`,
    received && `received ${received}`,
    exchange?.request,
    exchange?.response,
  ]
  return lines
    .filter((line) => line !== undefined)
    .map(escaped)
    .join('\n')
}

function leftovers(left: readonly string[]): string {
  const message = escaped(`These accounts could not be removed: ${left.join(', ')}`)
  return `  <testsuite name="removal" tests="1" failures="1" errors="0" skipped="0"><testcase classname="removal" name="all accounts are removed"><failure message="${message}"/></testcase></testsuite>`
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

// Characters that XML cannot contain, and those that control a terminal or reorder its text.
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu

function escaped(text: string): string {
  return text
    .replace(UNSAFE, (character) => {
      const code = character.charCodeAt(0)
      return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
    })
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
