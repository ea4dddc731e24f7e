import type { ServiceErrorCode, ValidationIssue } from './api.ts'

/**
 * What went wrong, for programs. Besides the codes of the service:
 * - `unreachable`: there was no response.
 * - `unexpected_response`: the response is not one of Latchkey, but of something in between.
 * - `unknown_state`: this tab did not begin the sign-in that it should complete.
 *
 * A newer service may send a code that is not listed here; a `switch` needs a `default`.
 */
export type ErrorCode = ServiceErrorCode | 'unreachable' | 'unexpected_response' | 'unknown_state'

export type ErrorDetails = {
  readonly code: ErrorCode
  readonly status: number
  readonly message: string
  readonly requestId?: string | undefined
  readonly issues?: readonly ValidationIssue[] | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}

/** Latchkey refused a call, or could not be asked. */
export class LatchkeyError extends Error {
  /** Never changes for the same error, unlike the message. */
  readonly code: ErrorCode
  /** The HTTP status; 0 if there was no response. */
  readonly status: number
  /** Identifies the request in the log of the service. */
  readonly requestId: string | undefined
  /** With status 422: what is wrong with which field, by its name in the HTTP API. */
  declare readonly issues?: readonly ValidationIssue[]
  /** With status 429 and 503: when to try again. */
  declare readonly retryAfterSeconds?: number

  constructor({ code, status, message, requestId, issues, retryAfterSeconds, cause }: ErrorDetails) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'LatchkeyError'
    this.code = code
    this.status = status
    this.requestId = requestId
    if (issues !== undefined) this.issues = issues
    if (retryAfterSeconds !== undefined) this.retryAfterSeconds = retryAfterSeconds
  }
}

const REFUSALS = {
  not_authenticated: [401, 'Not authenticated. Use either JWT token or API key.'],
  token_invalid: [401, 'That token is Invalid'],
  token_expired: [401, 'That token has Expired'],
  not_permitted: [403, 'Not enough permissions'],
  unavailable: [503, 'Service Unavailable'],
  unknown_state: [0, 'This tab did not begin the sign-in'],
} as const satisfies Partial<Record<ErrorCode, readonly [number, string]>>

/** A refusal that this package decides by itself, with the texts of the service where it has one. */
export function refusal(code: keyof typeof REFUSALS, cause?: unknown): LatchkeyError {
  const [status, message] = REFUSALS[code]
  return new LatchkeyError({ code, status, message, cause })
}
