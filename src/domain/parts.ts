import type { Passwords } from '../security/password.ts'
import type { Tokens } from '../security/token.ts'
import type { Database } from '../storage/database.ts'
import type { Observer } from './observer.ts'

/** What the rules stand on. Each takes of it what it needs. */
export type DomainParts = {
  readonly db: Database
  readonly tokens: Tokens
  readonly passwords: Passwords
  readonly observer: Observer
  readonly now: () => number
  /** Called after each commit that queued a mail. */
  readonly onMailQueued: () => void
}
