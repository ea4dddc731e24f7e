import { randomBytes } from 'node:crypto'
import type { Answer, Call } from './client.ts'
import { isObject, type JsonObject } from './expect.ts'

/** Knows the accounts that a run has created, from the answers to its requests, so that all of them can be removed. */
export type Ledger = {
  /** Every address of the run contains it, or the last name if a check sends no address. */
  readonly marker: string
  /** Notes what an answer created or removed. */
  observe(method: string, path: string, call: Call, answer: Answer): void
  noteId(email: string, id: number): void
  noteRemoved(id: number): void
  idOf(email: string): number | undefined
  /** How many accounts were created. */
  created(): number
  /** Whether there is an account that is not known to be removed. */
  isOpen(): boolean
  /** Whether a user belongs to the run. */
  contains(user: JsonObject): boolean
}

export function createLedger(): Ledger {
  const marker = `conformance-${randomBytes(5).toString('hex')}`
  const registered = new Set<string>()
  const ids = new Map<string, number>()
  const removed = new Set<number>()
  const isMarked = (text: unknown) => String(text).toLowerCase().includes(marker)
  return {
    marker,
    observe(method, path, { json }, { status }) {
      if (status >= 300) return
      if (method === 'POST' && path === '/register/' && isObject(json)) registered.add(String(json['email']).toLowerCase())
      const [, id] = /^\/users\/(\d+)$/.exec(path) ?? []
      if (method === 'DELETE' && id !== undefined) removed.add(Number(id))
    },
    noteId: (email, id) => void ids.set(email.toLowerCase(), id),
    noteRemoved: (id) => void removed.add(id),
    idOf: (email) => ids.get(email.toLowerCase()),
    created: () => registered.size,
    isOpen: () => [...registered].some((email) => !removed.has(ids.get(email) ?? 0)),
    contains: (user) => isMarked(user['email']) || isMarked(user['last_name']),
  }
}
