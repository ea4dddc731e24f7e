import type { Merge, Snapshot } from './registry.ts'

const MERGES: Readonly<Record<Merge, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  max: Math.max,
  min: Math.min,
}

/** The text format of Prometheus, for the metrics of one process or the aggregate of several. */
export function exposition(snapshots: readonly Snapshot[]): string {
  const metrics = new Map<string, { head: string; merge: Merge; values: Map<string, number> }>()
  for (const { name, help, type, merge, samples } of snapshots.flat()) {
    const head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
    const metric = metrics.get(name) ?? { head, merge, values: new Map<string, number>() }
    metrics.set(name, metric)
    for (const { suffix, labels, value } of samples) {
      const series = `${name}${suffix}${labels === '' ? '' : `{${labels}}`}`
      const known = metric.values.get(series)
      metric.values.set(series, known === undefined ? value : MERGES[metric.merge](known, value))
    }
  }
  return [...metrics.values()]
    .map(({ head, values }) => head + [...values].map(([series, value]) => `${series} ${value}\n`).join(''))
    .join('')
}
