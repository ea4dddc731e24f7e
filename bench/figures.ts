/** One result, with its target. */
export type Figure = {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly atLeast?: number | undefined
  readonly atMost?: number | undefined
  /** For a ratio of two that took turns: half of the rounds lie between these. */
  readonly spread?: Spread | undefined
}

type Spread = readonly [low: number, high: number]

export type Section = { readonly title: string; readonly how: string; readonly figures: readonly Figure[] }

/** Prints a line about the progress. */
export type Report = (line: string) => void

/** Undefined if there is no target. A ratio that misses it counts as missed only if its spread does not reach the target either. */
export function verdictOn({ value, atLeast, atMost, spread: [low, high] = [value, value] }: Figure): 'yes' | 'unclear' | 'no' | undefined {
  if (atLeast === undefined && atMost === undefined) return undefined
  const [least, most] = [atLeast ?? Number.NEGATIVE_INFINITY, atMost ?? Number.POSITIVE_INFINITY]
  if (value >= least && value <= most) return 'yes'
  return high >= least && low <= most ? 'unclear' : 'no'
}

/** How much two that took turns differ: the median of the ratios of their rounds. Noise that lasts affects both alike. */
export function ratioOf(ones: readonly number[], others: readonly number[]): Pick<Figure, 'value' | 'unit' | 'spread'> {
  const ratios = ones.map((one, round) => one / (others[round] ?? Number.NaN)).sort((a, b) => a - b)
  const quarter = Math.floor(ratios.length / 4)
  return { value: median(ratios), unit: '×', spread: [ratios[quarter] ?? Number.NaN, ratios.at(-1 - quarter) ?? Number.NaN] }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low, high] = [sorted[sorted.length % 2 ? middle : middle - 1], sorted[middle]]
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2
}
