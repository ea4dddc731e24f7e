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
export async function measureWorkers(generator: LoadGenerator, folder: string, report: Report, rounds = 9, seconds = 3): Promise<Section> {
  const cores = availableParallelism()
  const counts = Array.from({ length: Math.floor(Math.log2(cores)) + 1 }, (_, power) => 2 ** power)
  const postgres = await startPostgres()
  const figures: Figure[] = []
  try {
    for (const [name, url] of Object.entries({ SQLite: `sqlite:${join(folder, 'workers.db')}`, PostgreSQL: postgres.url })) {
      const services = []
      for (const count of counts)
        services.push({ count, rates: [] as number[], ...(await startOn(folder, url, { WORKERS: String(count) })) })
      const [first] = services
      const { token } = await logIn(first?.url ?? '', ADMIN.email, ADMIN.password)
      for (let round = 0; round <= rounds; round++) {
        report(`workers: ${name}, ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}`)
        for (const { url: service, rates } of services) {
          const load = { url: `${service}/users/me`, headers: { authorization: `Bearer ${token}` }, connections: CONNECTIONS, seconds }
          const { requestsPerSecond } = await generator.run(load)
          if (round > 0) rates.push(requestsPerSecond)
        }
      }
      for (const { count, rates } of services) {
        figures.push({ name: `GET /users/me, ${name}, WORKERS=${count}`, value: median(rates), unit: '1/s' })
        if (first && count > 1) figures.push({ name: `WORKERS=${count}, relative to one, ${name}`, ...ratioOf(rates, first.rates) })
      }
      for (const service of services) await service.stop()
    }
  } finally {
    await postgres.stop()
  }
  const how = `GET /users/me by JWT with ${CONNECTIONS} connections, in turns: medians of ${rounds} rounds of ${seconds} s. The load comes from the same ${cores} cores.`
  return { title: 'More processes', how, figures }
}
