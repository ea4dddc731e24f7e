import type { BenchProcess } from './process.ts'

export type MemoryWatch = {
  /** Ends the watch. What the process held at most, and how much that is over what it held before; not a number where the system does not tell. */
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
