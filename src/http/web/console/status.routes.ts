import { sumOf } from '../../../domain/operations/activity.ts'
import type { Activity, ActivityPeriod } from '../../../model/activity.ts'
import { type Html, html } from '../../../shared/html.ts'
import { emptyState } from '../site/elements/cards.ts'
import { type TimeChart, timeChart } from '../site/elements/charts.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import { momentText, numberOf } from './format.ts'

const PERIODS_PER_HOUR = 4

type Graph = {
  readonly id: string
  readonly title: string
  readonly layers: readonly { readonly kind: TimeChart['layers'][number]['kind']; value(activity: Activity): number }[]
  /** The highest value of the chart, as a text. */
  highest(value: number): string
  /** A value of the scale; a number unless this says something else. */
  scale?(value: number): string
  /** What the whole day says. */
  summary(day: Activity): string
  readonly columns: readonly (readonly [head: string, text: (activity: Activity) => string])[]
}

const highestCount = (value: number) => `highest: ${numberOf(value)} in 15 minutes`

const GRAPHS: readonly Graph[] = [
  {
    id: 'requests',
    title: 'Requests',
    layers: [{ kind: '', value: ({ requests }) => requests }],
    highest: highestCount,
    summary: ({ requests }) => `${numberOf(requests)} in 24 hours`,
    columns: [['Requests', ({ requests }) => numberOf(requests)]],
  },
  {
    id: 'latency',
    title: 'Latency',
    layers: [{ kind: '', value: meanUs }],
    highest: (value) => `highest mean: ${timeOf(value)}`,
    scale: timeOf,
    summary: (day) => `mean ${timeOf(meanUs(day))}, slowest ${timeOf(day.slowestUs)}`,
    columns: [
      ['Mean', (activity) => timeOf(meanUs(activity))],
      ['Slowest', ({ slowestUs }) => timeOf(slowestUs)],
    ],
  },
  {
    id: 'logins',
    title: 'Logins',
    layers: [
      { kind: 'light', value: ({ logins, failedLogins }) => logins + failedLogins },
      { kind: 'bad', value: ({ failedLogins }) => failedLogins },
    ],
    highest: highestCount,
    summary: ({ logins, failedLogins }) => `${numberOf(logins)} succeeded, ${numberOf(failedLogins)} failed`,
    columns: [
      ['Succeeded', ({ logins }) => numberOf(logins)],
      ['Failed', ({ failedLogins }) => numberOf(failedLogins)],
    ],
  },
  {
    id: 'errors',
    title: 'Errors',
    layers: [{ kind: 'bad', value: ({ failed }) => failed }],
    highest: highestCount,
    summary: ({ failed, refused }) => `${numberOf(failed)} failed (5xx), ${numberOf(refused)} refused (4xx)`,
    columns: [
      ['Failed (5xx)', ({ failed }) => numberOf(failed)],
      ['Refused (4xx)', ({ refused }) => numberOf(refused)],
    ],
  },
  {
    id: 'queue',
    title: 'Hashing queue',
    layers: [{ kind: '', value: ({ longestQueue }) => longestQueue }],
    highest: (value) => `longest: ${numberOf(value)}`,
    summary: ({ longestQueue }) => (longestQueue === 0 ? 'no password waited' : `up to ${numberOf(longestQueue)} waited at once`),
    columns: [['Longest queue', ({ longestQueue }) => numberOf(longestQueue)]],
  },
]

/** What all processes did in the last 24 hours: a chart and a table for each number that an operator watches. */
export function consoleStatusRoutes({ get }: PageRoutes, { activity }: PageParts): void {
  get('/status', {
    async handle() {
      const periods = await activity.lastDay()
      const hours = hoursOf(periods)
      const day = sumOf(periods)
      const content =
        day.requests === 0
          ? html`<section class="card flush">${emptyState('No requests yet', 'Each process adds its numbers once a minute. Reload this page in a moment.')}</section>`
          : html`<p class="quiet">The last 24 hours, for all processes. Each process adds its numbers once a minute. Times are in UTC.</p>
<div class="columns">
${GRAPHS.map((graph) => graphCard(graph, periods, hours, day))}
</div>`
      return { title: 'Status', content }
    },
  })
}

type Hour = ReturnType<typeof hoursOf>[number]

function hoursOf(periods: readonly ActivityPeriod[]) {
  return Array.from({ length: Math.ceil(periods.length / PERIODS_PER_HOUR) }, (_, place) => {
    const hour = periods.slice(place * PERIODS_PER_HOUR, (place + 1) * PERIODS_PER_HOUR)
    return { startsAt: hour[0]?.startsAt ?? 0, activity: sumOf(hour) }
  })
}

function graphCard(graph: Graph, periods: readonly ActivityPeriod[], hours: readonly Hour[], day: Activity): Html {
  const { id, title, columns } = graph
  const layers = graph.layers.map(({ kind, value }) => ({ kind, values: periods.map(value) }))
  const summary = `${graph.summary(day)}; ${graph.highest(Math.max(...layers.flatMap(({ values }) => values)))}`
  const chart = timeChart({
    id,
    label: `${title} of the last 24 hours`,
    summary,
    startsAt: periods[0]?.startsAt ?? 0,
    scale: graph.scale ?? countOf,
    layers,
    heads: ['Hour from', ...columns.map(([head]) => head)],
    rows: hours.toReversed().map((hour) => [momentText(hour.startsAt), ...columns.map(([, text]) => text(hour.activity))]),
  })
  return html`<section class="card" aria-labelledby="${id}"><header><h2 id="${id}">${title}</h2><span class="quiet">${summary}</span></header>
${chart}</section>`
}

/** Half of an odd number has one decimal. */
function countOf(value: number): string {
  return numberOf(Math.round(value * 10) / 10)
}

function meanUs({ durationUs, requests }: Activity): number {
  return requests === 0 ? 0 : durationUs / requests
}

/** `12.3 ms` */
function timeOf(us: number): string {
  const ms = us / 1000
  return `${numberOf(ms < 100 ? Math.round(ms * 10) / 10 : Math.round(ms))} ms`
}
