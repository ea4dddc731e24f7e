import { type DailyUse, startOfDay } from '../../../../model/usage.ts'
import { type Html, html } from '../../../../shared/html.ts'
import { CONSOLE_TEXTS, type Texts } from '../../texts/texts.ts'

type BarChart = {
  /** What the chart shows, for those who do not see it. */
  readonly label: string
  readonly unit: string
  readonly bars: readonly { readonly at: number; readonly value: number }[]
}

// The charts that only the console has are in English.
const { clockText, dateText, numberOf } = CONSOLE_TEXTS.format
const WIDTH = 600
const HEIGHT = 120
const GAP = 0.25

/** The values at the left of a chart, from the top down. */
function scaleOf(marks: readonly string[]): Html {
  return html`<div class="scale" aria-hidden="true">${marks.map((mark) => html`<span>${mark}</span>`)}</div>`
}

/** The scale of whole numbers, and its lines. The half of an odd number is left out. */
function countAxis(highest: number, height: number, numberText: (count: number) => string): { readonly scale: Html; readonly lines: Html } {
  const marks = [...new Set([highest, highest / 2, 0])].filter(Number.isInteger)
  const lines = marks.filter((mark) => mark > 0).map((mark) => height * (1 - mark / highest))
  return {
    scale: scaleOf(marks.map(numberText)),
    lines: html`<g>${lines.map((y) => html`<line x2="${WIDTH}" y1="${y}" y2="${y}"/>`)}</g>`,
  }
}

/** A bar for each day, made by the server, with the same numbers in a table. The keyboard scrolls the table. */
export function barChart({ label, unit, bars }: BarChart): Html {
  const top = Math.max(0, ...bars.map(({ value }) => value))
  const { scale, lines } = countAxis(top, HEIGHT, numberOf)
  const highest = Math.max(1, top)
  const step = WIDTH / Math.max(1, bars.length)
  const shapes = bars.map(({ at, value }, place) => {
    const height = (value / highest) * HEIGHT
    const [x, y, width] = [place * step, HEIGHT - height, step * (1 - GAP)].map((length) => length.toFixed(1))
    return html`<rect x="${x ?? ''}" y="${y ?? ''}" width="${width ?? ''}" height="${height.toFixed(1)}" rx="2"><title>${dateText(at)}: ${numberOf(value)} ${unit}</title></rect>`
  })
  return html`<figure class="chart axes">${scale}<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">${lines}${shapes}</svg>
<figcaption><span>${dateText(bars[0]?.at ?? 0)}</span><span>${dateText(bars.at(-1)?.at ?? 0)}</span></figcaption></figure>
<details class="numbers"><summary>Numbers</summary><div class="scroll" tabindex="0" role="region" aria-label="${label}"><table><thead><tr><th scope="col">Day</th><th scope="col">Number</th></tr></thead><tbody>
${bars.toReversed().map(({ at, value }) => html`<tr><td>${dateText(at)}</td><td>${numberOf(value)}</td></tr>`)}
</tbody></table></div></details>`
}

export type TimeChart = {
  /** Names the chart: letters and hyphens. */
  readonly id: string
  readonly title: string
  /** What the chart shows, in a sentence, for those who do not see it. */
  readonly summary: string
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

/** Bars for equal periods. One path draws all of them, because a page has hundreds. */
export function timeChart({ id, title, summary, startsAt, scale, layers }: TimeChart): Html {
  const top = Math.max(1e-9, ...layers.flatMap(({ values }) => values))
  const count = Math.max(1, ...layers.map(({ values }) => values.length))
  const paths = layers.map(({ kind, values }) => html`<path${kind === '' ? '' : html` class="${kind}"`} d="${barsOf(values, top)}"/>`)
  const highest = Math.max(0, ...layers.flatMap(({ values }) => values))
  const marks = [...new Set([highest, highest / 2, 0].map(scale))]
  const times = Array.from({ length: TIME_MARKS }, (_, n) => startsAt + (n * DAY_MS) / TIME_MARKS)
  return html`<figure class="chart axes">${scaleOf(marks)}<svg viewBox="0 0 ${count} ${TIME_HEIGHT}" preserveAspectRatio="none" role="img" aria-labelledby="${id}-title ${id}-desc"><title id="${id}-title">${title}</title><desc id="${id}-desc">${summary}</desc><g><line x2="${count}"/><line x2="${count}" y1="${TIME_HEIGHT / 2}" y2="${TIME_HEIGHT / 2}"/></g>${paths}</svg>
<figcaption>${times.map((at) => html`<span>${clockText(at)}</span>`)}<span>now</span></figcaption></figure>`
}

function barsOf(values: readonly number[], top: number): string {
  return values
    .map((value, place) => {
      const height = ((value / top) * TIME_HEIGHT).toFixed(1)
      return height === '0.0' ? '' : `M${place} ${TIME_HEIGHT}v-${height}h${BAR_WIDTH}v${height}z`
    })
    .join('')
}

const USE_HEIGHT = 120

/** What keys have used on each day: a bar for what passed, and on top of it what a limit refused. The same numbers are in a table. */
function useChart({ format, use }: Texts, { id, days }: { readonly id: string; readonly days: readonly DailyUse[] }): Html {
  const { numberOf } = format
  const dateOf = (day: number) => format.dateText(startOfDay(day))
  const highest = Math.max(1, ...days.map(({ allowed, limited }) => allowed + limited))
  const { scale, lines } = countAxis(highest, USE_HEIGHT, numberOf)
  const step = WIDTH / Math.max(1, days.length)
  const shapes = days.map(({ day, allowed, limited }, place) => {
    const [whole, part] = [((allowed + limited) / highest) * USE_HEIGHT, (limited / highest) * USE_HEIGHT]
    const [x, width] = [(place * step).toFixed(1), (step * (1 - GAP)).toFixed(1)]
    const bar = (kind: string, top: number, height: number) =>
      height === 0
        ? html``
        : html`<rect${kind === '' ? '' : html` class="${kind}"`} x="${x}" y="${top.toFixed(1)}" width="${width}" height="${height.toFixed(1)}"/>`
    const bars = [bar('', USE_HEIGHT - whole + part, whole - part), bar('bad', USE_HEIGHT - whole, part)]
    return html`<g><title>${use.day(dateOf(day), numberOf(allowed), numberOf(limited))}</title>${bars}</g>`
  })
  const [first, last] = [days[0]?.day ?? 0, days.at(-1)?.day ?? 0]
  const label = use.label(days.length)
  return html`<figure class="chart axes" id="${id}">${scale}<svg viewBox="0 0 ${WIDTH} ${USE_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">${lines}${shapes}</svg>
<figcaption><span>${dateOf(first)}</span><span>${dateOf(last)}</span></figcaption></figure>
<details class="numbers"><summary>${use.numbers}</summary><div class="scroll" tabindex="0" role="region" aria-label="${label}"><table><thead><tr><th scope="col">${use.heads.day}</th><th scope="col">${use.heads.allowed}</th><th scope="col">${use.heads.limited}</th></tr></thead><tbody>
${days.toReversed().map(({ day, allowed, limited }) => html`<tr><td>${dateOf(day)}</td><td>${numberOf(allowed)}</td><td>${numberOf(limited)}</td></tr>`)}
</tbody></table></div></details>`
}

/** A card with the use of a key, or of all keys of an account. Its title says what the colours of the bars stand for. */
export function useCard(texts: Texts, days: readonly DailyUse[], none: string): Html {
  const { format, use } = texts
  const [allowed, limited] = [days.reduce((sum, day) => sum + day.allowed, 0), days.reduce((sum, day) => sum + day.limited, 0)]
  const shown = (kind: string, count: number) =>
    html`<span class="nowrap">${allowed + limited === 0 ? undefined : html`<i class="${kind}"></i>`}${format.numberOf(count)}</span>`
  const content = allowed + limited === 0 ? html`<p class="quiet">${none}</p>` : useChart(texts, { id: 'use-chart', days })
  return html`<section class="card wide" aria-labelledby="use"><header><h2 id="use">${use.title}</h2><span class="quiet">${use.summary(shown('swatch', allowed), shown('swatch bad', limited), days.length)}</span></header>
${content}
</section>`
}
