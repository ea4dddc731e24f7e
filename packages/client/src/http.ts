import type { ValidationIssue } from './api.ts'
import { type ErrorCode, LatchkeyError } from './error.ts'

export type Fetch = typeof globalThis.fetch

export type CallOptions = {
  /** Ends the call with the reason of the signal. Other calls, and a refresh that they share with this one, continue. */
  readonly signal?: AbortSignal | undefined
}

/** Sends a request. Without a response, the error is a LatchkeyError, or the reason of the signal. */
export async function reach(fetch: Fetch, url: string, init: RequestInit): Promise<Response> {
  try {
    // Latchkey needs no cookie, and never redirects these calls: a redirect comes from something in between.
    return await fetch(url, { credentials: 'omit', redirect: 'error', ...init })
  } catch (error) {
    throw lost(error, init.signal)
  }
}

/** The body of a response that is accepted: of a successful one, unless told otherwise. Throws for every other response. */
export async function bodyOf(response: Response, signal?: AbortSignal | null, isAccepted = response.ok): Promise<unknown> {
  if (!isAccepted) throw await errorOf(response, signal)
  if (response.status === 204) return undefined
  const body = await parsed(response, signal)
  if (typeof body !== 'object' || body === null) throw unexpected(response)
  return body
}

async function errorOf(response: Response, signal?: AbortSignal | null): Promise<LatchkeyError> {
  const { headers, status } = response
  const body = await parsed(response, signal)
  const code = headers.get('x-error-code')
  const detail = (body as { detail?: string | readonly ValidationIssue[] } | undefined)?.detail
  if (code === null || detail === undefined) return unexpected(response)
  const issues = typeof detail === 'string' ? undefined : detail
  const message = typeof detail === 'string' ? detail : detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ')
  // The service may be newer than this package, and know more codes.
  const retryAfter = headers.get('retry-after')
  const retryAfterSeconds = retryAfter === null ? undefined : Number(retryAfter)
  return new LatchkeyError({ code: code as ErrorCode, status, message, requestId: requestIdOf(response), issues, retryAfterSeconds })
}

/** The body as JSON; undefined if it is something else. */
async function parsed(response: Response, signal: AbortSignal | null | undefined): Promise<unknown> {
  const text = await response.text().catch((error) => {
    throw lost(error, signal)
  })
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function lost(cause: unknown, signal: AbortSignal | null | undefined): unknown {
  if (signal?.aborted) return signal.reason
  return new LatchkeyError({ code: 'unreachable', status: 0, message: 'Latchkey is not reachable', cause })
}

function unexpected(response: Response): LatchkeyError {
  const { status } = response
  const message = `The response with status ${status} is not one of Latchkey`
  return new LatchkeyError({ code: 'unexpected_response', status, message, requestId: requestIdOf(response) })
}

function requestIdOf({ headers }: Response): string | undefined {
  return headers.get('x-request-id') ?? undefined
}

/** A base URL, with or without a trailing slash. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
