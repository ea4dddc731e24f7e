import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { newFolder } from '../test/support/databases/run-folder.ts'
import { measureAudit } from './audit.ts'
import { chartOf } from './chart.ts'
import { measureCheck } from './check.ts'
import { type Section, verdictOn } from './figures.ts'
import { measureFootprint } from './footprint.ts'
import { measureImport } from './import.ts'
import { findLoadGenerator } from './load.ts'
import { measureLogins } from './logins.ts'
import { measureScale, type ScaleFigures } from './scale.ts'
import { pagesSection, scaleSection } from './scale-section.ts'
import { measureStorm } from './storm.ts'
import { type Machine, tableOf } from './table.ts'
import { measureThroughput } from './throughput.ts'
import { measureUse } from './use.ts'
import { measureWorkers } from './workers.ts'

const PARTS = ['requests', 'check', 'logins', 'audit', 'storm', 'workers', 'scale', 'pages', 'import', 'use', 'footprint'] as const
const RESULTS = fileURLToPath(new URL('./results/', import.meta.url))

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true }, users: { type: 'string', multiple: true } } })
// Other numbers of users are for the parts that grow with them; the figures of the complete run stay as they are.
const hasOwnSizes = values.users !== undefined
const only = new Set<string>(values.only ?? (hasOwnSizes ? ['scale', 'pages', 'import'] : PARTS))
const unknown = [...only].find((part) => !PARTS.some((known) => known === part))
if (unknown !== undefined) {
  process.stderr.write(`bench: unknown part ${unknown}; the parts are ${PARTS.join(', ')}\n`)
  process.exit(1)
}

// The lists of the console alone do not replace the figures of a longer run.
const name = only.size === 1 && only.has('pages') ? 'pages' : hasOwnSizes ? 'scale' : 'results'
const begunAt = performance.now()
const folder = newFolder('bench')
const generator = findLoadGenerator(folder)
const machine = describeMachine()
const sections: Section[] = []
let scale: ScaleFigures[] = []

// A long run that fails keeps the results of the parts before.
if (only.has('requests')) keep(await measureThroughput(generator, folder, report))
if (only.has('check')) keep(await measureCheck(generator, folder, report))
if (only.has('logins')) keep(await measureLogins(generator, folder, report))
if (only.has('audit')) keep(await measureAudit(generator, folder, report))
if (only.has('storm')) keep(await measureStorm(generator, folder, report))
if (only.has('workers')) keep(await measureWorkers(generator, folder, report))
if (only.has('scale') || only.has('pages')) {
  const measured = await measureScale(report, { sizes: values.users?.map(Number), parts: only })
  scale = measured.scale
  keep(...(only.has('scale') ? [scaleSection(scale)] : []), ...(only.has('pages') ? [pagesSection(measured.pages)] : []))
}
if (only.has('import')) keep(await measureImport(folder, report, values.users?.map(Number).at(-1)))
if (only.has('use')) keep(await measureUse(folder, report))
if (only.has('footprint')) keep(await measureFootprint(folder, report))

process.stdout.write(`\n${tableOf(machine, sections)}`)
report('the results were written to bench/results/')
const missed = sections.flatMap(({ figures }) => figures).filter((figure) => verdictOn(figure) === 'no')
for (const { name } of missed) report(`target missed: ${name}`)
// Idle keep-alive connections would keep the process running.
process.exit(missed.length > 0 ? 1 : 0)

function report(line: string): void {
  const seconds = Math.round((performance.now() - begunAt) / 1000)
  process.stderr.write(`[${String(seconds).padStart(4)} s] ${line}\n`)
}

function keep(...measured: readonly Section[]): void {
  sections.push(...measured)
  write('json', `${JSON.stringify({ machine, sections, scale }, undefined, 2)}\n`)
  if (name !== 'pages') write('svg', chartOf(ratesOf(sections), scale))
}

function write(format: string, text: string): void {
  mkdirSync(RESULTS, { recursive: true })
  writeFileSync(join(RESULTS, `${name}.${format}`), text)
}

function ratesOf(measured: readonly Section[]) {
  return measured
    .flatMap(({ title, figures }) => (['Login storm', 'Audit trail', 'Import', 'Limits of API keys'].includes(title) ? [] : figures))
    .filter(({ unit }) => unit === '1/s')
}

function describeMachine(): Machine {
  return {
    processor: `${cpus()[0]?.model ?? 'a processor'} (${process.arch})`,
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1e9),
    system: type(),
    node: process.versions.node,
    generator: generator.name,
  }
}
