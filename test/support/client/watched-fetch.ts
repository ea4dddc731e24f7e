type Fetch = typeof globalThis.fetch

export type WatchedFetch = {
  readonly fetch: Fetch
  /** Method and path of each request, in order. */
  readonly calls: string[]
  /** Holds requests to a path back until they are released. */
  hold(path: string): Held
}

export type Held = {
  /** Resolves when a request is held. */
  readonly arrived: Promise<AbortSignal>
  release(): void
}

/** The `fetch` of the platform, with a list of its requests. */
export function watchedFetch(): WatchedFetch {
  const calls: string[] = []
  const holds = new Map<string, { readonly released: Promise<void>; readonly arrive: (signal: AbortSignal) => void }>()

  const fetch: Fetch = async (input, init) => {
    const request = new Request(input, init)
    const { pathname } = new URL(request.url)
    calls.push(`${request.method} ${pathname}`)
    const hold = holds.get(pathname)
    hold?.arrive(request.signal)
    await hold?.released
    return globalThis.fetch(request)
  }

  return {
    fetch,
    calls,
    hold(path) {
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<AbortSignal>()
      holds.set(path, { released, arrive })
      return {
        arrived,
        release() {
          holds.delete(path)
          release()
        },
      }
    },
  }
}
