import { ask, lateOnly } from './client.ts'
import { startHeartbeat } from './heartbeat.ts'
import { type Latency, latencyOf } from './latency.ts'
import { FREQUENT_TERMS, personOf, RARE_TERMS, TERM_OF_EVERYONE } from './people.ts'

const FIELDS = ['all', 'email', 'first_name', 'last_name'] as const
const PAGES = [1, 1000]
const MAX_SAMPLES = 40
const MAX_TIME_MS = 3000
const WARM_UP = 2

/** `address` is the whole address of one user, made of parts that many users share; `everyone` occurs in every address. */
export type TermKind = 'rare' | 'address' | 'frequent' | 'everyone'

export type SearchFigures = Latency & {
  readonly term: TermKind
  readonly field: string
  readonly page: number
  /** The number of users found. */
  readonly total: number
}

export type SearchMeasures = { readonly searches: SearchFigures[]; readonly heartbeat: Latency }

type Search = { readonly term: TermKind; readonly text: string; readonly field: string; readonly page: number }

/** Searches for every kind of term in every field that can contain it, on the first and on a late page, one at a time. */
export async function measureSearches(url: string, token: string, users: number): Promise<SearchMeasures> {
  const heartbeat = await startHeartbeat(url)
  const searches: SearchFigures[] = []
  for (const search of searchesAmong(users)) searches.push(await measureSearch(url, token, search))
  return { searches, heartbeat: await heartbeat.stop() }
}

function searchesAmong(users: number): Search[] {
  const address = personOf(Math.floor(users * 0.7)).email
  const terms: Omit<Search, 'page'>[] = [
    ...FIELDS.map((field) => ({ term: 'rare' as const, text: RARE_TERMS[field], field })),
    ...FIELDS.slice(0, 2).map((field) => ({ term: 'address' as const, text: address, field })),
    ...FIELDS.map((field) => ({ term: 'frequent' as const, text: FREQUENT_TERMS[field], field })),
    ...FIELDS.slice(0, 2).map((field) => ({ term: 'everyone' as const, text: TERM_OF_EVERYONE, field })),
  ]
  return terms.flatMap((search) => PAGES.map((page) => ({ ...search, page })))
}

async function measureSearch(url: string, token: string, { term, text, field, page }: Search): Promise<SearchFigures> {
  const query = new URLSearchParams({ search_term: text, field, page: String(page) })
  const asked = { path: `/users/search?${query}`, token }
  const timesMs: number[] = []
  let total = 0
  const until = performance.now() + MAX_TIME_MS
  for (let round = -WARM_UP; round < MAX_SAMPLES && performance.now() < until; round++) {
    const answer = await ask(url, asked).catch(lateOnly)
    // The service gives up at its deadline, and so would every later round.
    if (answer === undefined) return { term, field, page, total: Number.NaN, ...latencyOf([Number.POSITIVE_INFINITY]) }
    const { body, tookMs } = answer
    if (round >= 0) timesMs.push(tookMs)
    // Every search response contains the total.
    total = (JSON.parse(body) as { total: number }).total
  }
  return { term, field, page, total, ...latencyOf(timesMs) }
}
