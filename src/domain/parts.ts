import type { Passwords } from '../security/password.ts'
import type { Tokens } from '../security/token.ts'
import type { Reads } from '../storage/database.ts'
import type { Changes } from './changes.ts'
import type { Observer } from './observer.ts'

/** What the rules are built from. Each service takes what it needs. */
export type DomainParts = {
  readonly reads: Reads
  /** The only way in which a service writes. */
  readonly changes: Changes
  readonly tokens: Tokens
  readonly passwords: Passwords
  readonly observer: Observer
  readonly now: () => number
  /** Called after each commit that queued a mail. */
  readonly onMailQueued: () => void
}
