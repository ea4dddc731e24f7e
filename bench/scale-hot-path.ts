import { ask, logIn } from './client.ts'
import { type Latency, latencyOf, rounded } from './latency.ts'
import { personOf } from './people.ts'
import { ableToLogIn, POPULATION_PASSWORD } from './population.ts'

/** The same requests to the service with many users and to one with few, alternating, so that other load affects both. */
export type Compared = { readonly latency: Latency; readonly withFew: Latency; readonly ratio: number }

export type HotPathFigures = { readonly login: Compared; readonly me: Compared }

export type Populated = { readonly url: string; readonly users: number }

const LOGINS = 60
const ROUNDS_OF_ME = 25

type Timed = { readonly tookMs: number }

/** Measures logins of users from the whole table, then requests with their tokens, one at a time. */
export async function measureHotPath(many: Populated, few: Populated): Promise<HotPathFigures> {
  const tokens = new Map<Populated, string[]>([
    [many, []],
    [few, []],
  ])
  const login = await compare(LOGINS, many, few, async (populated, round) => {
    const { email } = personOf(ableToLogIn(Math.floor((populated.users * round) / LOGINS)))
    const { token, tookMs } = await logIn(populated.url, email, POPULATION_PASSWORD)
    tokens.get(populated)?.push(token)
    return { tookMs }
  })
  const me = await compare(LOGINS * ROUNDS_OF_ME, many, few, (populated, round) =>
    ask(populated.url, { path: '/users/me', token: tokens.get(populated)?.[round % LOGINS] }),
  )
  return { login, me }
}

/** Runs the same work with many users and with few, alternating. */
export async function compare(
  rounds: number,
  many: Populated,
  few: Populated,
  once: (populated: Populated, round: number) => Promise<Timed>,
): Promise<Compared> {
  const times = new Map<Populated, number[]>([
    [many, []],
    [few, []],
  ])
  for (let round = 0; round < rounds; round++) {
    // The order alternates from round to round.
    for (const populated of round % 2 === 0 ? [many, few] : [few, many]) times.get(populated)?.push((await once(populated, round)).tookMs)
  }
  // The first requests run uncompiled code and read uncached files, so they are left out.
  const warm = (populated: Populated) => latencyOf(times.get(populated)?.slice(Math.floor(rounds / 10)) ?? [])
  const [latency, withFew] = [warm(many), warm(few)]
  return { latency, withFew, ratio: rounded(latency.p50Ms / withFew.p50Ms) }
}
