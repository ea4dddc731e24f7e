import { type Contender, type ContenderName, startContenders } from './contenders.ts'
import { type Figure, median, type Report, ratioOf, type Section } from './figures.ts'
import type { LoadGenerator } from './load.ts'

type Samples = { readonly perSecond: number[]; readonly processorUs: number[] }

const CONNECTIONS = 50
const WARM_UP_ROUNDS = 2

/** Measures the contenders in turn, for several rounds, so that noise affects all of them alike. The median of the rounds counts. */
export async function measureThroughput(
  generator: LoadGenerator,
  folder: string,
  report: Report,
  rounds = 9,
  seconds = 1,
): Promise<Section> {
  const { all, stop } = await startContenders(folder)
  const names = Object.keys(all) as ContenderName[]
  const samples = Object.fromEntries(names.map((name): [string, Samples] => [name, { perSecond: [], processorUs: [] }]))
  try {
    for (let round = 1 - WARM_UP_ROUNDS; round <= rounds; round++) {
      report(round < 1 ? 'throughput: warming up' : `throughput: round ${round} of ${rounds}`)
      for (const name of names) {
        const { perSecond, processorUs } = await measureOnce(generator, all[name], seconds)
        if (round < 1) continue
        samples[name]?.perSecond.push(perSecond)
        samples[name]?.processorUs.push(processorUs)
      }
    }
  } finally {
    await stop()
  }
  const ratesOf = (name: ContenderName) => samples[name]?.perSecond ?? []
  const rate = (name: ContenderName) => median(ratesOf(name))
  const price = (name: ContenderName) => median(samples[name]?.processorUs ?? [])
  const how = `Requests a second with ${CONNECTIONS} connections from ${generator.name}: the median of ${rounds} rounds of ${seconds} s, in which all servers take turns. A ratio is the median of the ratios of the rounds; half of them lie in the range beside it. Every request reads its user from the database.`
  return { title: 'Requests', how, figures: [...shares(ratesOf), ...rates(names, rate, price)] }
}

async function measureOnce(generator: LoadGenerator, { process, load }: Contender, seconds: number) {
  const before = process.processorMs()
  const { requestsPerSecond } = await generator.run({ ...load, connections: CONNECTIONS, seconds })
  const after = process.processorMs()
  const usedMs = before === undefined || after === undefined ? Number.NaN : after - before
  return { perSecond: requestsPerSecond, processorUs: (usedMs * 1000) / (requestsPerSecond * seconds) }
}

function shares(ratesOf: (name: ContenderName) => readonly number[]): Figure[] {
  const share = (name: string, of: ContenderName, by: ContenderName, atLeast: number): Figure => ({
    name,
    ...ratioOf(ratesOf(of), ratesOf(by)),
    atLeast,
  })
  return [
    share('GET /users/me by JWT, SQLite, relative to bare Fastify', 'sqliteToken', 'bare', 0.52),
    share('GET /users/me by API key, SQLite, relative to bare Fastify', 'sqliteKey', 'bare', 0.48),
    share('GET /users/me by JWT, PostgreSQL, relative to bare Fastify', 'postgresToken', 'bare', 0.62),
    share('GET /users/me by API key, PostgreSQL, relative to bare Fastify', 'postgresKey', 'bare', 0.6),
    share('GET /users/me with metrics, relative to without', 'sqliteMetrics', 'sqliteToken', 0.9),
    share('POST /refresh/, relative to GET /users/me', 'sqliteRefresh', 'sqliteToken', 0.45),
    share('GET /users/me by JWT, relative to a session check of better-auth', 'sqliteToken', 'peerSession', 5),
    share('GET /users/me by API key, relative to a key check of better-auth', 'sqliteKey', 'peerKey', 5),
    share('GET /auth/check by JWT, SQLite, relative to GET /users/me', 'sqliteCheckToken', 'sqliteToken', 0.85),
    share('GET /auth/check by API key, SQLite, relative to GET /users/me', 'sqliteCheckKey', 'sqliteKey', 0.85),
    share('GET /auth/check by JWT, PostgreSQL, relative to GET /users/me', 'postgresCheckToken', 'postgresToken', 0.85),
    share('GET /auth/check by API key, PostgreSQL, relative to GET /users/me', 'postgresCheckKey', 'postgresKey', 0.85),
  ]
}

const LABELS: Readonly<Record<ContenderName, string>> = {
  bare: 'bare Fastify',
  sqliteToken: 'GET /users/me by JWT, SQLite',
  sqliteKey: 'GET /users/me by API key, SQLite',
  sqliteMetrics: 'GET /users/me by JWT, SQLite, metrics on',
  sqliteRefresh: 'POST /refresh/, SQLite',
  postgresToken: 'GET /users/me by JWT, PostgreSQL',
  postgresKey: 'GET /users/me by API key, PostgreSQL',
  sqliteCheckToken: 'GET /auth/check by JWT, SQLite',
  sqliteCheckKey: 'GET /auth/check by API key, SQLite',
  postgresCheckToken: 'GET /auth/check by JWT, PostgreSQL',
  postgresCheckKey: 'GET /auth/check by API key, PostgreSQL',
  peerSession: 'better-auth, session check, SQLite',
  peerKey: 'better-auth, key check, SQLite',
}

function rates(names: readonly ContenderName[], rate: (name: ContenderName) => number, price: (name: ContenderName) => number): Figure[] {
  return names.flatMap((name) => [
    { name: LABELS[name], value: rate(name), unit: '1/s' },
    { name: `${LABELS[name]}, CPU time per request`, value: price(name), unit: 'µs' },
  ])
}
