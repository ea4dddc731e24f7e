import { setTimeout as sleep } from 'node:timers/promises'
import type { Masking } from './masking.ts'

/** The headers of a caller: a token, an API key, or both. */
export type Credentials = { readonly token?: string; readonly key?: string }

export type Call = {
  readonly as?: Credentials | undefined
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
  /** A body as it is, of the given type. */
  readonly raw?: { readonly body: string; readonly type: string }
  readonly query?: Readonly<Record<string, string | number>>
  readonly headers?: Readonly<Record<string, string>>
}

export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  readonly text: string
  /** Undefined if the body is not JSON. */
  readonly json: unknown
  /** The request and the response, without secrets, for a report. */
  exchange(): Exchange
}
export type Exchange = { readonly request: string; readonly response: string }

export type Client = { call(method: string, path: string, call?: Call): Promise<Answer> }

export type ClientOptions = {
  readonly url: string
  readonly masking: Masking
  /** Throws when the run was interrupted. */
  readonly checkpoint: () => void
  readonly onAnswer?: (method: string, path: string, call: Call, answer: Answer) => void
}

/** There was no answer, or only answers that say to try again later. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

const TIMEOUT_MS = 60_000
const MAX_WAIT_MS = 180_000
const DEFAULT_RETRY_MS = 1000
const SHORTEST_RETRY_MS = 250
const EXCERPT_LENGTH = 600

/** Sends requests to the implementation. It follows no redirects, and waits where a rate limit says so. */
export function createClient({ url, masking, checkpoint, onAnswer }: ClientOptions): Client {
  async function call(method: string, path: string, options: Call = {}): Promise<Answer> {
    let waitedMs = 0
    for (;;) {
      checkpoint()
      const answer = await send(method, path, options)
      const waitMs = retryDelayMs(answer)
      if (waitMs === undefined) {
        onAnswer?.(method, path, options, answer)
        return answer
      }
      waitedMs += waitMs
      if (waitedMs > MAX_WAIT_MS)
        throw new Unanswered(
          `${method} ${path} answers ${answer.status}, and asks to wait ${Math.ceil(waitMs / 1000)} s; lift its limits for the run`,
        )
      await pause(waitMs, checkpoint)
    }
  }

  async function send(method: string, path: string, options: Call): Promise<Answer> {
    const { headers, body } = prepare(options)
    const query = new URLSearchParams(Object.entries(options.query ?? {}).map(([name, value]) => [name, String(value)]))
    const target = path + (query.size > 0 ? `?${query}` : '')
    noteSecrets(masking, options)
    try {
      const response = await fetch(url + target, {
        method,
        headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body !== undefined && { body }),
      })
      const bytes = Buffer.from(await response.arrayBuffer())
      const text = bytes.toString('utf8')
      const json = parseJson(text)
      masking.noteFields(json)
      const exchange = () => ({
        request: describeRequest(method, target, headers, body, excerpt),
        response: describeResponse(response.status, response.headers, text, excerpt),
      })
      return { status: response.status, headers: response.headers, bytes, text, json, exchange }
    } catch (error) {
      // The error for a header that cannot be sent quotes it.
      throw new Unanswered(masking.mask(`${method} ${path} was not answered: ${reasonOf(error)}`))
    }
  }

  // Masked first: a part of a secret would not be recognised.
  const excerpt = (text: string) => shorten(masking.mask(text))

  return { call }
}

/** How long to wait before the request is repeated. Undefined for an answer that counts. */
function retryDelayMs({ status, headers }: Answer): number | undefined {
  const retryAfter = headers.get('retry-after')
  if (status !== 429 && !(status === 503 && retryAfter !== null)) return undefined
  if (retryAfter === null) return DEFAULT_RETRY_MS
  const seconds = Number(retryAfter)
  const waitMs = Number.isNaN(seconds) ? Date.parse(retryAfter) - Date.now() : seconds * 1000
  return Number.isNaN(waitMs) ? DEFAULT_RETRY_MS : Math.max(waitMs, SHORTEST_RETRY_MS)
}

/** In small steps, so that an interrupted run does not wait. */
async function pause(ms: number, checkpoint: () => void): Promise<void> {
  const until = performance.now() + ms
  while (performance.now() < until) {
    checkpoint()
    await sleep(Math.min(250, until - performance.now()))
  }
}

function prepare({ as = {}, json, form, raw, headers = {} }: Call): { headers: Record<string, string>; body: string | undefined } {
  const sent: Record<string, string> = {}
  if (as.token !== undefined) sent['authorization'] = `Bearer ${as.token}`
  if (as.key !== undefined) sent['x-api-key'] = as.key
  if (json !== undefined) sent['content-type'] = 'application/json'
  if (form !== undefined) sent['content-type'] = 'application/x-www-form-urlencoded'
  if (raw !== undefined) sent['content-type'] = raw.type
  const body = json !== undefined ? JSON.stringify(json) : form !== undefined ? String(new URLSearchParams(form)) : raw?.body
  return { headers: { ...sent, ...headers }, body }
}

function noteSecrets(masking: Masking, { as, json, form, query }: Call): void {
  if (as?.token !== undefined) masking.note('token', as.token)
  if (as?.key !== undefined) masking.note('key', as.key)
  for (const fields of [json, form, query]) masking.noteFields(fields)
}

function describeRequest(
  method: string,
  target: string,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
  excerpt: (text: string) => string,
): string {
  const credentials = Object.entries(headers).filter(([name]) => name !== 'content-type')
  const shown = credentials.map(([name, value]) => `; ${name}: ${value}`).join('')
  return excerpt(`${method} ${decodeURI(target)}${shown}`) + (body === undefined ? '' : ` ${excerpt(body)}`)
}

function describeResponse(status: number, headers: Headers, text: string, excerpt: (text: string) => string): string {
  const place = headers.get('location')
  const shown = [headers.get('content-type') ?? '', ...(place === null ? [] : [`Location: ${place}`]), text]
  return [status, ...shown.map(excerpt)].join(' ').trim()
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > EXCERPT_LENGTH ? `${line.slice(0, EXCERPT_LENGTH)}…` : line
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  const code = 'code' in cause ? String(cause.code) : ''
  return code === 'ECONNREFUSED' ? 'nothing is listening at this address' : cause.message || code
}
