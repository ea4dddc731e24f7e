import type { BenchProcess } from './process.ts'

export type MemoryWatch = {
  /** Stops. Returns the peak memory, and its difference to the memory at the start; NaN if the system does not report it. */
  stop(): { readonly mostMb: number; readonly extraMb: number }
}

const WATCH_EVERY_MS = 20

export function watchMemory({ memoryMb }: BenchProcess): MemoryWatch {
  const beforeMb = memoryMb() ?? Number.NaN
  let mostMb = beforeMb
  const look = () => {
    mostMb = Math.max(mostMb, memoryMb() ?? Number.NaN)
  }
  const timer = setInterval(look, WATCH_EVERY_MS)
  return {
    stop() {
      clearInterval(timer)
      look()
      return { mostMb, extraMb: mostMb - beforeMb }
    },
  }
}
