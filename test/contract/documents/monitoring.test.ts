import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { startApp } from '../../support/app/start-app.ts'

const RULES = new URL('../../../deploy/alerts.yml', import.meta.url)
const RUNNING = new URL('../../../docs/running.md', import.meta.url)
const DASHBOARD = new URL('../../../deploy/dashboard.json', import.meta.url)

type Dashboard = {
  readonly templating: { readonly list: readonly { readonly query: string }[] }
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

/** Every metric that a service with the default title exposes: with the parts of a histogram, and the names of its labels. */
async function exposed(t: Parameters<typeof startApp>[0]): Promise<{ text: string; names: Set<string>; labels: Set<string> }> {
  const { app } = await startApp(t, { env: { METRICS_ENABLED: 'true' } })
  await app.inject('/users/me')
  const text = (await app.inject('/metrics')).body
  const names = new Set([...text.matchAll(/^([a-z_0-9]+)[{ ]/gm)].map(([, name = '']) => name))
  const labels = new Set([...text.matchAll(/[{,]([a-z]+)="/g)].map(([, name = '']) => name))
  return { text, names, labels }
}

function namesIn(expressions: readonly string[]): string[] {
  return [...new Set(expressions.flatMap((expression) => expression.match(/\b(?:latchkey|process)_[a-z_0-9]+/g) ?? []))]
}

test('the alert rules and the dashboard use existing metrics and labels only', async (t) => {
  const { names, labels } = await exposed(t)
  const rules = [...readFileSync(RULES, 'utf8').matchAll(/^ {8}expr: (.*(?:\n {10}.*)*)/gm)].map(([, text = '']) => text)
  const { panels, templating } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as Dashboard
  const queries = [...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)), ...templating.list.map(({ query }) => query)]
  assert.deepEqual([rules.length, panels.length], [14, 19])
  for (const expressions of [rules, queries]) {
    const named = namesIn(expressions)
    assert.ok(named.length > 5)
    assert.deepEqual(
      named.filter((name) => !names.has(name)),
      [],
    )
    const grouped = expressions.flatMap((text) => [...text.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')))
    assert.deepEqual(
      grouped.filter((label) => label !== 'job' && !labels.has(label)),
      [],
    )
  }
})

test('docs/running.md lists every metric, and no other', async (t) => {
  const { text } = await exposed(t)
  const declared = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
  const section = readFileSync(RUNNING, 'utf8').split('\n## Monitoring\n')[1]?.split('\n## ')[0] ?? ''
  const documented = [...section.matchAll(/`((?:latchkey|process)_[a-z_0-9]*[a-z])`/g)].map(([, name = '']) => name)
  assert.deepEqual(documented.sort(), declared.sort())
})

test('promtool, if it is installed, reports no problem with the rules and the metrics', async (t) => {
  if (spawnSync('promtool', ['--version']).status !== 0) return t.skip('promtool is not installed')
  const { text } = await exposed(t)
  const checked = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  assert.deepEqual([checked.status, checked.stdout, checked.stderr], [0, '', ''])
  const rules = spawnSync('promtool', ['check', 'rules', RULES.pathname], { encoding: 'utf8' })
  assert.equal(rules.status, 0, rules.stderr)
})
