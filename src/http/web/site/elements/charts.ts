import { type DailyUse, startOfDay } from '../../../../model/usage.ts'
import { type Html, html } from '../../../../shared/html.ts'
import { CONSOLE_TEXTS, type Texts } from '../../texts/texts.ts'

type Chart = {
  readonly id: string
  /** What the chart shows, in a few words and in a sentence, for those who do not see it. */
  readonly label: string
  readonly summary: string
  readonly width: number
  readonly height: number
  /** The values at the left, from the top down. */
  readonly marks: readonly string[]
  /** The heights of the lines across the chart. */
  readonly lines: readonly number[]
  readonly shapes: readonly Html[]
  /** The times below. */
  readonly times: readonly string[]
  /** The columns of the table. */
  readonly heads: readonly string[]
  /** The same numbers, the latest first. */
  readonly rows: readonly (readonly string[])[]
}

/** A chart made by the server, as wide as its place, with its numbers in a table that the keyboard scrolls. */
function chart({ use }: Texts, { id, label, summary, width, height, marks, lines, shapes, times, heads, rows }: Chart): Html {
  return html`<figure class="chart" id="${id}-chart"><div class="scale" aria-hidden="true">${marks.map((mark) => html`<span>${mark}</span>`)}</div><svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-labelledby="${id}-title ${id}-desc"><title id="${id}-title">${label}</title><desc id="${id}-desc">${summary}</desc><g>${lines.map((y) => html`<line x2="${width}" y1="${y}" y2="${y}"/>`)}</g>${shapes}</svg>
<figcaption>${times.map((time) => html`<span>${time}</span>`)}</figcaption></figure>
<details class="numbers"><summary>${use.numbers}</summary><div class="scroll" tabindex="0" role="region" aria-label="${label}"><table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>
${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}
</tbody></table></div></details>`
}

const WIDTH = 600
const HEIGHT = 120
const GAP = 0.25

type DailyChart = Pick<Chart, 'id' | 'label' | 'summary' | 'heads'> & {
  /** The parts of each bar, from the ground up, and what its title says. */
  readonly days: readonly { readonly at: number; readonly parts: readonly number[]; readonly title: string }[]
}

/** A bar for each day, and the same numbers in a table. A second part, on top of the first, is what a limit refused. */
export function dailyChart(texts: Texts, { days, ...shown }: DailyChart): Html {
  const { dateText, numberOf } = texts.format
  const highest = Math.max(0, ...days.map(({ parts }) => sumOf(parts)))
  const unit = HEIGHT / Math.max(1, highest)
  const step = WIDTH / Math.max(1, days.length)
  const shapes = days.map(({ parts, title }, place) => {
    const [x, width] = [(place * step).toFixed(1), (step * (1 - GAP)).toFixed(1)]
    const bars = parts.map((count, part) => {
      const [y, height] = [HEIGHT - sumOf(parts.slice(0, part + 1)) * unit, count * unit].map((length) => length.toFixed(1))
      const kind = part === 0 ? '' : html` class="bad"`
      return count === 0 ? html`` : html`<rect${kind} x="${x}" y="${y}" width="${width}" height="${height}"/>`
    })
    return html`<g><title>${title}</title>${bars}</g>`
  })
  // The half of an odd number is left out.
  const marks = [...new Set([highest, highest / 2, 0])].filter(Number.isInteger)
  return chart(texts, {
    ...shown,
    width: WIDTH,
    height: HEIGHT,
    marks: marks.map(numberOf),
    lines: marks.filter((mark) => mark > 0).map((mark) => HEIGHT - mark * unit),
    shapes,
    times: [days[0], days.at(-1)].map((day) => dateText(day?.at ?? 0)),
    rows: days.toReversed().map(({ at, parts }) => [dateText(at), ...parts.map(numberOf)]),
  })
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

export type TimeChart = Pick<Chart, 'label' | 'heads' | 'rows'> &
  Required<Pick<Chart, 'id' | 'summary'>> & {
    /** The chart ends now. */
    readonly startsAt: number
    /** A value of the scale, as a text. */
    scale(value: number): string
    /** Drawn over each other from the same ground, the first one at the back: a part of a whole comes after the whole. */
    readonly layers: readonly { readonly kind: '' | 'light' | 'bad'; readonly values: readonly number[] }[]
  }

const TIME_HEIGHT = 40
const TIME_MARKS = 4
const DAY_MS = 24 * 60 * 60_000
const BAR_WIDTH = 0.8

/** Bars for equal periods of the last day. One path draws all of them, because a page has hundreds. Only the console has such charts. */
export function timeChart({ startsAt, scale, layers, ...shown }: TimeChart): Html {
  const most = Math.max(0, ...layers.flatMap(({ values }) => values))
  // Half of a count is a count.
  const highest = Number.isInteger(most) ? 2 * Math.ceil(most / 2) : most
  const times = Array.from({ length: TIME_MARKS }, (_, n) => startsAt + (n * DAY_MS) / TIME_MARKS)
  return chart(CONSOLE_TEXTS, {
    ...shown,
    width: Math.max(1, ...layers.map(({ values }) => values.length)),
    height: TIME_HEIGHT,
    marks: [...new Set([highest, highest / 2, 0].map(scale))],
    lines: [0, TIME_HEIGHT / 2],
    shapes: layers.map(({ kind, values }) => html`<path${kind === '' ? '' : html` class="${kind}"`} d="${pathOf(values, highest)}"/>`),
    times: [...times.map(CONSOLE_TEXTS.format.clockText), 'now'],
  })
}

function pathOf(values: readonly number[], highest: number): string {
  return values
    .map((value, place) => {
      const height = ((value / Math.max(1e-9, highest)) * TIME_HEIGHT).toFixed(1)
      return height === '0.0' ? '' : `M${place} ${TIME_HEIGHT}v-${height}h${BAR_WIDTH}v${height}z`
    })
    .join('')
}

/** A card with the use of a key, or of all keys of an account. Its title says what the colours of the bars stand for. */
export function useCard(texts: Texts, days: readonly DailyUse[], none: string): Html {
  const { format, use } = texts
  const { dateText, numberOf } = format
  const [allowed, limited] = [sumOf(days.map((day) => day.allowed)), sumOf(days.map((day) => day.limited))]
  const isUnused = allowed + limited === 0
  const shown = (kind: string, count: number) =>
    html`<span class="nowrap">${isUnused ? undefined : html`<i class="${kind}"></i>`}${numberOf(count)}</span>`
  const label = use.label(days.length)
  const drawn = () =>
    dailyChart(texts, {
      id: 'use',
      label,
      summary: use.day(label, numberOf(allowed), numberOf(limited)),
      heads: [use.heads.day, use.heads.allowed, use.heads.limited],
      days: days.map((day) => {
        const at = startOfDay(day.day)
        return { at, parts: [day.allowed, day.limited], title: use.day(dateText(at), numberOf(day.allowed), numberOf(day.limited)) }
      }),
    })
  return html`<section class="card wide" aria-labelledby="use"><header><h2 id="use">${use.title}</h2><span class="quiet">${use.summary(shown('swatch', allowed), shown('swatch bad', limited), days.length)}</span></header>
${isUnused ? html`<p class="quiet">${none}</p>` : drawn()}
</section>`
}
