import type { Figure } from './figures.ts'
import type { ScaleFigures } from './scale.ts'
import { slowestP95 } from './scale-section.ts'

type Line = { readonly label: string; readonly color: string; readonly points: readonly (readonly [users: number, ms: number])[] }

const WIDTH = 860
const BAR_HEIGHT = 22
const LABEL_WIDTH = 380
const PLOT = { left: 70, width: 340, height: 240 }
const COLORS = ['#4269d0', '#efb118', '#ff725c', '#6cc5b0', '#9c6b4e', '#a463f2']

/** The chart of a run: requests per second, and how times grow with the number of users. */
export function chartOf(rates: readonly Figure[], scale: readonly ScaleFigures[]): string {
  const bars = barsOf(rates)
  const top = 60 + rates.length * BAR_HEIGHT + 50
  const plots = (['sqlite', 'postgres'] as const).map((database, place) => {
    const left = place * (WIDTH / 2)
    return `<g transform="translate(${left} ${top})">${plotOf(database, scale)}</g>`
  })
  const height = scale.length > 0 ? top + PLOT.height + 170 : top
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    '<title>Benchmark results</title>',
    '<rect width="100%" height="100%" fill="#fff"/>',
    bars,
    ...(scale.length > 0 ? plots : []),
    '</svg>',
    '',
  ].join('\n')
}

function barsOf(rates: readonly Figure[]): string {
  const most = Math.max(...rates.map(({ value }) => value))
  const rows = rates.map(({ name, value }, row) => {
    const [y, width] = [50 + row * BAR_HEIGHT, ((WIDTH - LABEL_WIDTH - 90) * value) / most]
    const color = name.startsWith('GET') || name.startsWith('POST') ? COLORS[0] : '#b4b4b4'
    return `<text x="${LABEL_WIDTH - 10}" y="${y + 13}" text-anchor="end">${escaped(name)}</text><rect x="${LABEL_WIDTH}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT - 6}" fill="${color}"/><text x="${(LABEL_WIDTH + width + 6).toFixed(1)}" y="${y + 13}">${Math.round(value).toLocaleString('en')}</text>`
  })
  return `<text x="20" y="30" font-size="16" font-weight="600">Requests a second, one process</text>\n${rows.join('\n')}`
}

/** Both axes are logarithmic: a constant time is a flat line, a time proportional to the number of users has a slope of one. */
function plotOf(database: ScaleFigures['database'], scale: readonly ScaleFigures[]): string {
  const lines = linesOf(scale.filter((figures) => figures.database === database))
  const last = Math.max(6, ...scale.map(({ users }) => Math.ceil(Math.log10(users))))
  const x = (users: number) => PLOT.left + ((Math.log10(users) - 3) / (last - 3)) * PLOT.width
  const y = (ms: number) => 30 + PLOT.height - ((Math.log10(Math.max(ms, 0.1)) + 1) / 5) * PLOT.height
  const axes = [
    ...Array.from({ length: last - 2 }, (_, place) => place + 3).map((power) =>
      axis(`M${x(10 ** power)} 30v${PLOT.height}`, x(10 ** power), 30 + PLOT.height + 18, `10${'⁰¹²³⁴⁵⁶⁷⁸'[power]}`),
    ),
    ...[-1, 0, 1, 2, 3, 4].map((power) =>
      axis(`M${PLOT.left} ${y(10 ** power)}h${PLOT.width}`, PLOT.left - 26, y(10 ** power) + 4, `${10 ** power} ms`),
    ),
  ]
  const drawn = lines.map(({ label, color, points }, place) => {
    const path = points.map(([users, ms], step) => `${step ? 'L' : 'M'}${x(users).toFixed(1)} ${y(ms).toFixed(1)}`).join('')
    const legend = 30 + PLOT.height + 46 + place * 16
    return `<path d="${path}" fill="none" stroke="${color}" stroke-width="2"/><rect x="${PLOT.left}" y="${legend - 9}" width="12" height="8" fill="${color}"/><text x="${PLOT.left + 18}" y="${legend}">${label}</text>`
  })
  const title = database === 'sqlite' ? 'SQLite' : 'PostgreSQL'
  return [`<text x="20" y="8" font-size="16" font-weight="600">${title}: time by number of users</text>`, ...axes, ...drawn].join('\n')
}

function axis(path: string, x: number, y: number, label: string): string {
  return `<path d="${path}" stroke="#ddd"/><text x="${x}" y="${y}" text-anchor="middle" fill="#555">${label}</text>`
}

function linesOf(scale: readonly ScaleFigures[]): Line[] {
  const line = (label: string, read: (figures: ScaleFigures) => number) => ({
    label,
    // A search that got no answer in time has no point.
    points: scale.map((figures) => [figures.users, read(figures)] as const).filter(([, ms]) => Number.isFinite(ms)),
  })
  return [
    line('GET /users/me, median', ({ hotPath }) => hotPath.me.latency.p50Ms),
    line('POST /login/, median', ({ hotPath }) => hotPath.login.latency.p50Ms),
    line('search, rare term, p95', ({ search }) => slowestP95(search.searches, 'rare', 1)),
    line('search, term of every tenth user, p95', ({ search }) => slowestP95(search.searches, 'frequent', 1)),
    line('search, term of every user, p95', ({ search }) => slowestP95(search.searches, 'everyone', 1)),
    line('whole list, first byte', ({ list }) => list.firstByteMs),
  ].map((made, place) => ({ ...made, color: COLORS[place] ?? '#000' }))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
