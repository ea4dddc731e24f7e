import { progressLine, type RedrawnLine } from './output.ts'

const SHOWN_AFTER_MS = 500
const REDRAWN_EVERY_MS = 100
const BAR_WIDTH = 30

/** A bar that is also removed when it is disposed of. */
type Progress = Disposable & {
  /** Without a total, the bar is a count of rows. */
  update(done: number, total?: number): void
  /** Removes the bar, so that a line can be printed. The next update draws it again. */
  clear(): void
}

type ProgressOptions = {
  readonly output?: RedrawnLine
  readonly now?: () => number
  /** Says how many are done in a second. */
  readonly showsRate?: boolean
}

/** Draws a bar on a terminal when the work takes long. Scripts never see it. */
export function createProgress(
  label: string,
  { output = progressLine, now = () => performance.now(), showsRate = false }: ProgressOptions = {},
): Progress {
  const startedAt = now()
  let drawnAt = Number.NEGATIVE_INFINITY
  let isDrawn = false

  function clear(): void {
    if (isDrawn) output.redraw('')
    isDrawn = false
    drawnAt = Number.NEGATIVE_INFINITY
  }

  return {
    update(done, total) {
      const isDue = now() - startedAt >= SHOWN_AFTER_MS && now() - drawnAt >= REDRAWN_EVERY_MS
      if (output.isTTY !== true || !isDue) return
      drawnAt = now()
      isDrawn = true
      const rate = showsRate ? `  ${Math.round((done * 1000) / (drawnAt - startedAt))} a second` : ''
      output.redraw(bar(label, done, total) + rate)
    },
    clear,
    [Symbol.dispose]: clear,
  }
}

function bar(label: string, done: number, total: number | undefined): string {
  if (total === undefined) return `${label}: ${done} rows`
  const share = total > 0 ? Math.min(done / total, 1) : 0
  const filled = Math.round(share * BAR_WIDTH)
  return `${label} [${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${Math.floor(share * 100)} %  ${done} of ${total}`
}
