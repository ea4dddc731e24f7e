/**
 * Makes work that is repeated by a timer report a failure that lasts once, not each time: again only when it fails for another reason, or
 * has succeeded in between. The result never throws, and says whether the work has succeeded.
 */
export function reportingOnce(work: () => Promise<void>, onFailure: (error: unknown) => void): () => Promise<boolean> {
  let lastReason: string | undefined
  return async () => {
    try {
      await work()
      lastReason = undefined
      return true
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (reason !== lastReason) onFailure(error)
      lastReason = reason
      return false
    }
  }
}
