export type Latency = {
  readonly count: number
  readonly p50Ms: number
  readonly p95Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

export function latencyOf(timesMs: readonly number[]): Latency {
  const sorted = timesMs.toSorted((a, b) => a - b)
  const at = (share: number) => rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN)
  return { count: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), maxMs: at(1) }
}

export function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
