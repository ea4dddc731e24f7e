import { Refusal } from '../../model/refusal.ts'
import { translate } from './errors.ts'

// For one statement or transaction, whatever the state of the database. A request has its own, longer deadline.
const ANSWER_DEADLINE_MS = 2000

export type AnsweredOptions = { readonly onError?: (error: unknown) => void; readonly deadlineMs?: number | undefined }

/** Rejects at the deadline, although the work may continue, and translates errors. */
export function answered<Result>(
  work: (requireTime: () => void) => PromiseLike<Result>,
  { onError, deadlineMs = ANSWER_DEADLINE_MS }: AnsweredOptions = {},
): Promise<Result> {
  const late = () => new Refusal('unavailable', `PostgreSQL did not respond within ${deadlineMs} ms`)
  return new Promise((resolve, reject) => {
    let isLate = false
    function fail(error: unknown): void {
      clearTimeout(timer)
      reject(error)
      onError?.(error)
    }
    const timer = setTimeout(() => {
      isLate = true
      fail(late())
    }, deadlineMs)
    const requireTime = () => {
      if (isLate) throw late()
    }
    work(requireTime).then(
      (result) => {
        clearTimeout(timer)
        resolve(result)
      },
      (error) => {
        if (!isLate) fail(translate(error))
      },
    )
  })
}
