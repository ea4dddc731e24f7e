import { type Html, html } from '../../../shared/html.ts'
import { numberOf } from './format.ts'

export type BarChart = {
  /** What the chart shows, for those who do not see it. */
  readonly label: string
  readonly unit: string
  readonly bars: readonly { readonly at: number; readonly value: number }[]
}

const WIDTH = 600
const HEIGHT = 120
const GAP = 0.25

/** A bar for each day, made by the server, with the same numbers in a table. */
export function barChart({ label, unit, bars }: BarChart): Html {
  const highest = Math.max(1, ...bars.map(({ value }) => value))
  const step = WIDTH / Math.max(1, bars.length)
  const shapes = bars.map(({ at, value }, place) => {
    const height = (value / highest) * HEIGHT
    const [x, y, width] = [place * step, HEIGHT - height, step * (1 - GAP)].map((length) => length.toFixed(1))
    return html`<rect x="${x ?? ''}" y="${y ?? ''}" width="${width ?? ''}" height="${height.toFixed(1)}" rx="2"><title>${dayOf(at)}: ${numberOf(value)} ${unit}</title></rect>`
  })
  return html`<figure class="chart"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">${shapes}</svg>
<figcaption><span>${dayOf(bars[0]?.at ?? 0)}</span><span>most: ${numberOf(Math.max(0, ...bars.map(({ value }) => value)))}</span><span>${dayOf(bars.at(-1)?.at ?? 0)}</span></figcaption></figure>
<details class="numbers"><summary>Numbers</summary><div class="scroll"><table><thead><tr><th scope="col">Day</th><th scope="col">${unit}</th></tr></thead><tbody>
${bars.toReversed().map(({ at, value }) => html`<tr><td>${dayOf(at)}</td><td class="number">${numberOf(value)}</td></tr>`)}
</tbody></table></div></details>`
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}
