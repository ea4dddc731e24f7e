/** The `fetch` of the platform, with a list of its requests. */
export function watchedFetch() {
  /** Method and path of each request, in order. */
  const calls: string[] = []
  const holds = new Map<string, { readonly released: Promise<void>; readonly arrive: (signal: AbortSignal) => void }>()

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    const { pathname } = new URL(request.url)
    calls.push(`${request.method} ${pathname}`)
    const hold = holds.get(pathname)
    hold?.arrive(request.signal)
    await hold?.released
    return globalThis.fetch(request)
  }

  /** Holds requests to a path back until they are released. `arrived` resolves when one is held. */
  function hold(path: string) {
    const { promise: released, resolve } = Promise.withResolvers<void>()
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<AbortSignal>()
    holds.set(path, { released, arrive })
    const release = () => {
      holds.delete(path)
      resolve()
    }
    return { arrived, release }
  }

  return { fetch, calls, hold }
}
