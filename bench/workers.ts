import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../test/support/databases/postgres-server.ts'
import { logIn } from './client.ts'
import { ADMIN, startOn } from './contenders.ts'
import { type Figure, median, type Report, ratioOf, type Section } from './figures.ts'
import type { LoadGenerator } from './load.ts'

// Connections are given to processes one by one, so that each gets about as many as the others.
const CONNECTIONS = 100

/** Measures GET /users/me with 1, 2, 4 and so on processes, up to one for each core. They take turns, on one database. */
export async function measureWorkers(generator: LoadGenerator, folder: string, report: Report, rounds = 9, seconds = 1): Promise<Section> {
  const cores = availableParallelism()
  const counts = Array.from({ length: Math.floor(Math.log2(cores)) + 1 }, (_, power) => 2 ** power)
  const postgres = await startPostgres()
  const figures: Figure[] = []
  try {
    for (const [name, databaseUrl] of Object.entries({ SQLite: `sqlite:${join(folder, 'workers.db')}`, PostgreSQL: postgres.url })) {
      const services = []
      for (const count of counts) services.push(await startOn(folder, databaseUrl, { WORKERS: String(count) }))
      const samples = await takeTurns(generator, services, rounds, seconds, (round) =>
        report(`workers: ${name}, round ${round} of ${rounds}`),
      )
      figures.push(...figuresOf(name, counts, samples))
      for (const service of services) await service.stop()
    }
  } finally {
    await postgres.stop()
  }
  const how = `GET /users/me by JWT with ${CONNECTIONS} connections, in turns: medians of ${rounds} rounds of ${seconds} s. The load comes from the same ${cores} cores.`
  return { title: 'More processes', how, figures }
}

type Served = { readonly url: string }

/** The requests a second of each service, round by round. The first round warms up. */
async function takeTurns(
  generator: LoadGenerator,
  services: readonly Served[],
  rounds: number,
  seconds: number,
  onRound: (round: number) => void,
): Promise<readonly (readonly number[])[]> {
  const { token } = await logIn(services[0]?.url ?? '', ADMIN.email, ADMIN.password)
  const samples: number[][] = services.map(() => [])
  for (let round = 0; round <= rounds; round++) {
    onRound(round)
    for (const [place, { url }] of services.entries()) {
      const load = { url: `${url}/users/me`, headers: { authorization: `Bearer ${token}` }, connections: CONNECTIONS, seconds }
      const { requestsPerSecond } = await generator.run(load)
      if (round > 0) samples[place]?.push(requestsPerSecond)
    }
  }
  return samples
}

function figuresOf(name: string, counts: readonly number[], samples: readonly (readonly number[])[]): Figure[] {
  const [one = []] = samples
  return counts.flatMap((count, place): Figure[] => {
    const rates = samples[place] ?? []
    const rate = { name: `GET /users/me, ${name}, WORKERS=${count}`, value: median(rates), unit: '1/s' }
    return count === 1 ? [rate] : [rate, { name: `WORKERS=${count}, relative to one, ${name}`, ...ratioOf(rates, one) }]
  })
}
