import type { User } from './user.ts'

/** Who makes a request, as the database knows them at this moment. */
export type Caller = {
  readonly user: User
  /** Absent when the caller came with an API key, which belongs to no session. */
  readonly sessionId: string | undefined
}

/** Somebody at the command line, who has the machine itself and needs no account. */
export type Operator = 'operator'
