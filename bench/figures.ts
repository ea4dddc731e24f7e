/** One result, with its target. */
export type Figure = {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly atLeast?: number | undefined
  readonly atMost?: number | undefined
}

export type Section = { readonly title: string; readonly how: string; readonly figures: readonly Figure[] }

/** Prints a line about the progress. */
export type Report = (line: string) => void

/** Whether the target is met; undefined if there is none. */
export function meetsTarget({ value, atLeast, atMost }: Figure): boolean | undefined {
  if (atLeast === undefined && atMost === undefined) return undefined
  return value >= (atLeast ?? Number.NEGATIVE_INFINITY) && value <= (atMost ?? Number.POSITIVE_INFINITY)
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low, high] = [sorted[sorted.length % 2 ? middle : middle - 1], sorted[middle]]
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2
}
