/** One combination of label values of a counter. */
export type Series = { value: number }

type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary'
/** How the values of several processes are aggregated. */
type Merge = 'sum' | 'max' | 'min'
type Sample = { readonly suffix: string; readonly labels: string; readonly value: number }
type Description = { readonly name: string; readonly help: string; readonly type: MetricType; readonly merge: Merge }

/** All metrics of one process at one moment, as plain data that can be sent to another process. */
export type Snapshot = readonly (Description & { readonly samples: readonly Sample[] })[]

export type Registry = ReturnType<typeof createRegistry>

/**
 * Counting adds to a number that was looked up before; everything more expensive happens on a scrape. The namespace is the prefix of every
 * name, except for those of the process, which are the same in every program.
 */
export function createRegistry(namespace = '') {
  const metrics: (Description & { samples(): Sample[] })[] = []

  function add(given: string, help: string, type: MetricType, samples: () => Sample[], merge: Merge = 'sum'): void {
    const name = namespace === '' || given.startsWith('process_') ? given : `${namespace}_${given}`
    if (metrics.some((metric) => metric.name === name)) throw new Error(`duplicate metric ${name}`)
    metrics.push({ name, help, type, merge, samples })
  }

  function readOnDemand(read: () => number | undefined): () => Sample[] {
    return () => {
      const value = read()
      return value === undefined ? [] : [{ suffix: '', labels: '', value }]
    }
  }

  return {
    /** Returns the series for label values, in the order of the label names. Keep it where counting is frequent, and add to its value. */
    counter(name: string, help: string, labelNames: readonly string[]): (...labelValues: string[]) => Series {
      const series = labelled(labelNames, (): Series => ({ value: 0 }))
      add(name, help, 'counter', () => series.all().map(([labels, { value }]) => ({ suffix: '', labels, value })))
      return series.of
    },
    histogram(name: string, help: string, buckets: readonly number[]) {
      const histogram = createHistogram(buckets)
      add(name, help, 'histogram', histogram.samples)
      return histogram
    },
    summary(name: string, help: string, labelNames: readonly string[]) {
      const series = labelled(labelNames, createSummary)
      add(name, help, 'summary', () => series.all().flatMap(([labels, summary]) => summary.samples(labels)))
      return series.of
    },
    /** Read on each scrape; undefined when the value is unknown. */
    gauge: (name: string, help: string, read: () => number | undefined, merge?: Merge): void =>
      add(name, help, 'gauge', readOnDemand(read), merge),
    counterOf: (name: string, help: string, read: () => number): void => add(name, help, 'counter', readOnDemand(read)),
    snapshot: (): Snapshot => metrics.map(({ samples, ...description }) => ({ ...description, samples: samples() })),
  }
}

/** One child for each combination of label values. */
function labelled<Child>(names: readonly string[], create: () => Child) {
  const children = new Map<string, Child>()
  return {
    of(...values: string[]): Child {
      const labels = names.map((name, index) => `${name}="${escapeLabel(values[index] ?? '')}"`).join(',')
      const child = children.get(labels) ?? create()
      children.set(labels, child)
      return child
    },
    all: () => [...children],
  }
}

function createHistogram(buckets: readonly number[]) {
  const counts = new Float64Array(buckets.length + 1)
  let sum = 0
  return {
    observe(value: number): void {
      let place = 0
      while (place < buckets.length && value > (buckets[place] ?? 0)) place++
      counts[place] = (counts[place] ?? 0) + 1
      sum += value
    },
    sum: () => sum,
    samples(): Sample[] {
      let cumulative = 0
      const rows = [...buckets, '+Inf'].map((bound, place) => {
        cumulative += counts[place] ?? 0
        return { suffix: '_bucket', labels: `le="${bound}"`, value: cumulative }
      })
      return [...rows, { suffix: '_sum', labels: '', value: sum }, { suffix: '_count', labels: '', value: cumulative }]
    },
  }
}

/** Sum and count, without quantiles, which cannot be aggregated over processes. */
function createSummary() {
  let sum = 0
  let count = 0
  return {
    observe(value: number): void {
      sum += value
      count++
    },
    samples: (labels: string): Sample[] => [
      { suffix: '_sum', labels, value: sum },
      { suffix: '_count', labels, value: count },
    ],
  }
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

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
