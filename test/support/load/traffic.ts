import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { eventually } from '../app/eventually.ts'
import { newEmail, PASSWORD } from '../http/requests.ts'

export type TimedResponse = {
  readonly what: string
  /** 0 if there was no response. */
  readonly status: number
  readonly atMs: number
  readonly tookMs: number
  readonly retryAfter: string | null
  readonly body: unknown
}

const GIVE_UP_MS = 15_000

/** The status of each kind of request when it is served. The login has the right password of an unverified account. */
export const EXPECTED_STATUSES: Readonly<Record<string, number>> = {
  'POST /register/': 201,
  'POST /refresh/': 200,
  'POST /forgot-password/': 200,
  'POST /login/': 401,
  'GET /users/me': 200,
  'GET /ready': 200,
  'GET /heartbeat': 200,
}

/** Sends one request. A failed connection is a response with status 0. */
export async function ask(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<TimedResponse> {
  const atMs = performance.now()
  const outcome = { what: `${method} ${path.split('?')[0]}`, atMs }
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(GIVE_UP_MS),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    const retryAfter = response.headers.get('retry-after')
    return { ...outcome, status: response.status, tookMs: performance.now() - atMs, retryAfter, body: isJson ? JSON.parse(text) : text }
  } catch (error) {
    return { ...outcome, status: 0, tookMs: performance.now() - atMs, retryAfter: null, body: String(error) }
  }
}

/** Sends a request that may be repeated, until it is answered by something other than 503, which a busy machine may cause. */
export function askPatiently(...request: Parameters<typeof ask>): Promise<TimedResponse> {
  return eventually(`${request[1]} ${request[2].split('?')[0]} is not answered with 503`, async () => {
    const answer = await ask(...request)
    return answer.status === 503 ? undefined : answer
  })
}

export function registration(email: string): object {
  return { email, password: PASSWORD, first_name: 'Mia', last_name: 'Muster' }
}

/** Registers an account, however busy the machine is. */
export async function registerAt(url: string, email = newEmail()): Promise<void> {
  assert.equal((await askPatiently(url, 'POST', '/register/', registration(email))).status, 201)
}

/**
 * Sends requests at a constant rate, whether or not earlier ones have been answered: writes in a transaction, single writes, reads and both
 * health checks; with the headers of a member also GET /users/me. Stops when the test ends.
 */
export function startTraffic(t: TestContext, url: string, everyMs = 40, member?: Readonly<Record<string, string>>) {
  const answers: TimedResponse[] = []
  /** The addresses of registrations with 201. */
  const registered: string[] = []
  const underWay = new Set<Promise<void>>()
  let refresh: string | undefined
  let known: string | undefined

  async function send(method: string, path: string, body?: unknown, headers = {}): Promise<TimedResponse> {
    const answer = await ask(url, method, path, body, headers)
    answers.push(answer)
    return answer
  }

  async function register(): Promise<void> {
    const email = newEmail()
    const answer = await send('POST', '/register/', registration(email))
    if (answer.status !== 201) return
    registered.push(email)
    known = email
    refresh = (answer.body as { refresh: string }).refresh
  }

  const visits = [
    register,
    () => (refresh === undefined ? register() : send('POST', '/refresh/', { refresh })),
    () => send('POST', '/forgot-password/', { email: known ?? newEmail() }),
    () => (known === undefined ? register() : send('POST', '/login/', { email: known, password: PASSWORD })),
    () => send('GET', '/ready'),
    () => send('GET', '/heartbeat'),
    ...(member === undefined ? [] : [() => send('GET', '/users/me', undefined, member)]),
  ]

  let turn = 0
  const timer = setInterval(() => {
    const visit = visits[turn++ % visits.length] ?? register
    const done = Promise.resolve(visit()).then(() => void underWay.delete(done))
    underWay.add(done)
  }, everyMs)
  t.after(() => clearInterval(timer))
  return {
    answers,
    registered,
    /** Stops sending and waits for running requests. */
    async stop(): Promise<void> {
      clearInterval(timer)
      await Promise.all(underWay)
    },
  }
}

/** "503: 12, 201: 4" */
export function tally(answers: readonly TimedResponse[]): string {
  const byStatus = Object.groupBy(answers, ({ status }) => status)
  return Object.entries(byStatus)
    .map(([status, all]) => `${status}: ${all?.length}`)
    .join(', ')
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
