import { quantile } from './traffic.ts'

export type Comparison = ReturnType<typeof comparePairs>

const RESAMPLINGS = 2000

/** Compares measurements taken in pairs, so that other work on the machine affects both. */
export function comparePairs(differencesMs: readonly number[]) {
  const medians = Array.from({ length: RESAMPLINGS }, () => quantile(resample(differencesMs), 0.5))
  return {
    pairs: differencesMs.length,
    /** The median of the differences within pairs, in milliseconds, with its 95 % confidence interval (bootstrap). */
    medianMs: quantile(differencesMs, 0.5),
    lowMs: quantile(medians, 0.025),
    highMs: quantile(medians, 0.975),
    /** How often the first of a pair was slower. */
    shareSlower: differencesMs.filter((difference) => difference > 0).length / differencesMs.length,
  }
}

function resample(values: readonly number[]): number[] {
  return Array.from(values, () => values[Math.floor(Math.random() * values.length)] ?? 0)
}

export function inWords({ pairs, medianMs, lowMs, highMs, shareSlower }: Comparison): string {
  const ms = (value: number) => `${value >= 0 ? '+' : '−'}${Math.abs(value).toFixed(3)}`
  return `${pairs} pairs, median difference ${ms(medianMs)} ms (95 %: ${ms(lowMs)} to ${ms(highMs)}), slower in ${(shareSlower * 100).toFixed(1)} % of pairs`
}
