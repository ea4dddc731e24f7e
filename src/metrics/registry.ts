/** A label value is kept in the order of the label names that its metric declares. */
export type Series = { value: number }

export type Histogram = { observe(value: number): void }
export type Summary = { observe(value: number): void }

type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary'
type Sample = { readonly suffix: string; readonly labels: string; readonly value: number }
type Metric = { readonly name: string; readonly help: string; readonly type: MetricType; samples(): Sample[] }

export type Registry = {
  /** A series for each combination of label values. Whoever counts often keeps the series, and adds to its value. */
  counter(name: string, help: string, labelNames: readonly string[]): (...labelValues: string[]) => Series
  histogram(name: string, help: string, buckets: readonly number[]): Histogram
  summary(name: string, help: string, labelNames: readonly string[]): (...labelValues: string[]) => Summary
  /** Read when the metrics are asked for; undefined when it is not known at that moment. */
  gauge(name: string, help: string, read: () => number | undefined): void
  counterOf(name: string, help: string, read: () => number): void
  /** The text format of Prometheus. */
  expose(): string
}

/** Counting is adding to a number that was looked up before; all that costs more waits until somebody asks. */
export function createRegistry(): Registry {
  const metrics: Metric[] = []

  function add(name: string, help: string, type: MetricType, samples: () => Sample[]): void {
    if (metrics.some((metric) => metric.name === name)) throw new Error(`there are two metrics called ${name}`)
    metrics.push({ name, help, type, samples })
  }

  function readOnDemand(type: 'counter' | 'gauge', name: string, help: string, read: () => number | undefined): void {
    add(name, help, type, () => {
      const value = read()
      return value === undefined ? [] : [{ suffix: '', labels: '', value }]
    })
  }

  return {
    counter(name, help, labelNames) {
      const series = labelled(labelNames, (): Series => ({ value: 0 }))
      add(name, help, 'counter', () => series.all().map(([labels, { value }]) => ({ suffix: '', labels, value })))
      return series.of
    },
    histogram(name, help, buckets) {
      const histogram = createHistogram(buckets)
      add(name, help, 'histogram', histogram.samples)
      return histogram
    },
    summary(name, help, labelNames) {
      const series = labelled(labelNames, createSummary)
      add(name, help, 'summary', () => series.all().flatMap(([labels, summary]) => summary.samples(labels)))
      return series.of
    },
    gauge: (name, help, read) => readOnDemand('gauge', name, help, read),
    counterOf: (name, help, read) => readOnDemand('counter', name, help, read),
    expose: () => metrics.map(exposeMetric).join(''),
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
    samples(): Sample[] {
      let cumulated = 0
      const rows = [...buckets, '+Inf'].map((bound, place) => {
        cumulated += counts[place] ?? 0
        return { suffix: '_bucket', labels: `le="${bound}"`, value: cumulated }
      })
      return [...rows, { suffix: '_sum', labels: '', value: sum }, { suffix: '_count', labels: '', value: cumulated }]
    },
  }
}

/** Sum and count. Quantiles could not be added up over processes, and cost more than the request that they describe. */
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

function exposeMetric({ name, help, type, samples }: Metric): string {
  const lines = samples().map(({ suffix, labels, value }) => `${name}${suffix}${labels === '' ? '' : `{${labels}}`} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
