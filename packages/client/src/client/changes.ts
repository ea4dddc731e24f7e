import type { TokenStorage } from './tokens.ts'

/** Somebody has logged in or out, the session has ended, or the account has other values. */
export type Change = 'login' | 'logout' | 'account'
export type ChangeListener = (change: Change) => void

/** A storage that reports when a session begins or ends, and the listeners of its reports. */
export function watched(storage: TokenStorage) {
  const listeners = new Set<ChangeListener>()
  let refresh: string | undefined

  function report(change: Change): void {
    // As with events of the platform, an error of a listener is not an error of the call.
    for (const listener of listeners) queueMicrotask(() => listener(change))
  }

  const reporting: TokenStorage = {
    async get() {
      // A storage in JavaScript may return undefined.
      const tokens = (await storage.get()) ?? null
      refresh = tokens?.refresh
      return tokens
    },
    async set(tokens) {
      const former = refresh
      refresh = tokens?.refresh
      await storage.set(tokens)
      // A renewed access token belongs to the same session.
      if (refresh !== former) report(tokens ? 'login' : 'logout')
    },
  }

  return {
    storage: reporting,
    report,
    /** Returns the function that removes the listener. */
    onChange(listener: ChangeListener): () => void {
      // Its own function, so that a listener that was added twice is removed once.
      const added: ChangeListener = (change) => listener(change)
      listeners.add(added)
      return () => void listeners.delete(added)
    },
  }
}
