/** Returns the result of the work, or `late` if the work takes longer than the deadline. */
export async function within<Result, Late>(deadlineMs: number, work: Promise<Result>, late: Late): Promise<Result | Late> {
  const { promise: expired, resolve: expire } = Promise.withResolvers<Late>()
  const timer = setTimeout(expire, deadlineMs, late)
  try {
    return await Promise.race([work, expired])
  } finally {
    clearTimeout(timer)
  }
}
