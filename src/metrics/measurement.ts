/** A state of the database, read every few seconds at most, however often it is scraped. Undefined while the database is unavailable. */
export type Measurement<State> = { read(): State | undefined; refresh(): Promise<void> }

const FRESH_FOR_MS = 5000

export function createMeasurement<State>(measure: () => Promise<State>, now: () => number): Measurement<State> {
  let state: State | undefined
  let measuredAtMs = Number.NEGATIVE_INFINITY
  return {
    read: () => state,
    async refresh() {
      if (now() - measuredAtMs < FRESH_FOR_MS) return
      measuredAtMs = now()
      state = await measure().catch(() => undefined)
    },
  }
}
