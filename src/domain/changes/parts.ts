import type { Passwords } from '../../security/password.ts'
import type { Tokens } from '../../security/token.ts'
import type { Reads } from '../../storage/database.ts'
import type { Observer } from '../operations/observer.ts'
import type { Changes } from './changes.ts'

/** The dependencies of the services. Each service picks those that it needs. */
export type DomainParts = {
  readonly reads: Reads
  /** For lists and searches, which may be a few seconds old. Never for a decision about a caller. */
  readonly lists: Reads
  /** The only way for a service to write. */
  readonly changes: Changes
  readonly tokens: Tokens
  readonly passwords: Passwords
  readonly observer: Observer
  readonly now: () => number
  /** Called after each commit that queued a mail. */
  readonly onMailQueued: () => void
}
