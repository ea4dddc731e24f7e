import { ask, logIn } from './client.ts'
import { type Latency, latencyOf, rounded } from './latency.ts'
import { personOf } from './people.ts'
import { POPULATION_PASSWORD } from './population.ts'

/** The same work on the service in question and on one with few users, in turns, so that what slows the machine slows both. */
export type Compared = { readonly latency: Latency; readonly withFew: Latency; readonly ratio: number }

export type HotPathFigures = { readonly login: Compared; readonly me: Compared }

export type Populated = { readonly url: string; readonly users: number }

const LOGINS = 60
const ROUNDS_OF_ME = 25

/** Logins of users from all over the table, and then what their tokens are for, one request after the other. */
export async function measureHotPath(many: Populated, few: Populated): Promise<HotPathFigures> {
  const tokens: { readonly many: string; readonly few: string }[] = []
  const logins = await compare(LOGINS, async (round) => {
    const [first, second] = [await logInSomebody(many, round), await logInSomebody(few, round)]
    tokens.push({ many: first.token, few: second.token })
    return [first.tookMs, second.tookMs]
  })
  const me = await compare(LOGINS * ROUNDS_OF_ME, async (round) => {
    const pair = tokens[round % tokens.length]
    const asked = (token: string | undefined) => ({ path: '/users/me', token })
    return [(await ask(many.url, asked(pair?.many))).tookMs, (await ask(few.url, asked(pair?.few))).tookMs]
  })
  return { login: logins, me }
}

function logInSomebody({ url, users }: Populated, round: number) {
  return logIn(url, personOf(1 + Math.floor((users * round) / LOGINS)).email, POPULATION_PASSWORD)
}

async function compare(rounds: number, once: (round: number) => Promise<[number, number]>): Promise<Compared> {
  const pairs: [number, number][] = []
  for (let round = 0; round < rounds; round++) pairs.push(await once(round))
  // The first few meet code that has not been compiled and files that have not been read.
  const warm = pairs.slice(Math.floor(rounds / 10))
  const [latency, withFew] = [latencyOf(warm.map(([first]) => first)), latencyOf(warm.map(([, second]) => second))]
  return { latency, withFew, ratio: rounded(latency.p50Ms / withFew.p50Ms) }
}
