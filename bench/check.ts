import { join } from 'node:path'
import connect from 'postgres'
import { startPostgres } from '../test/support/databases/postgres-server.ts'
import { ask, logIn } from './client.ts'
import { ADMIN, startOn } from './contenders.ts'
import { type Figure, median, type Report, ratioOf, type Section } from './figures.ts'
import type { LoadGenerator } from './load.ts'
import type { BenchService } from './service.ts'

const CONNECTIONS = 50
const WARM_UP_ROUNDS = 1
// So many that no request of the benchmark is refused, and few enough that shares are of a usual size.
const PLANS = 'busy=3000000/m,1000000000/d'

type Contender = { readonly service: BenchService; readonly headers: Readonly<Record<string, string>>; readonly rates: number[] }

/** Compares GET /auth/check by a key with two limits to the same without any. The two take turns. */
export async function measureCheck(generator: LoadGenerator, folder: string, report: Report, rounds = 9, seconds = 1): Promise<Section> {
  const postgres = await startPostgres()
  const databases = {
    SQLite: { on: `sqlite:${join(folder, 'limited.db')}`, off: `sqlite:${join(folder, 'unlimited.db')}` },
    PostgreSQL: { on: postgres.url, off: await createDatabase(postgres.url, 'unlimited') },
  }
  const figures: Figure[] = []
  try {
    for (const [name, urls] of Object.entries(databases)) {
      const limited = await start(folder, urls.on, { PLANS })
      const unlimited = await start(folder, urls.off)
      for (let round = 1 - WARM_UP_ROUNDS; round <= rounds; round++) {
        report(`limits: ${name}, round ${round} of ${rounds}`)
        for (const { service, headers, rates } of [limited, unlimited]) {
          const { requestsPerSecond } = await generator.run({
            url: `${service.url}/auth/check`,
            headers,
            connections: CONNECTIONS,
            seconds,
          })
          if (round > 0) rates.push(requestsPerSecond)
        }
      }
      figures.push(
        { name: `GET /auth/check with limits, relative to without, ${name}`, ...ratioOf(limited.rates, unlimited.rates), atLeast: 0.9 },
        { name: `GET /auth/check with limits, ${name}`, value: median(limited.rates), unit: '1/s' },
        { name: `GET /auth/check without limits, ${name}`, value: median(unlimited.rates), unit: '1/s' },
      )
      await Promise.all([limited.service.stop(), unlimited.service.stop()])
    }
  } finally {
    await postgres.stop()
  }
  const how = `GET /auth/check by an API key of a plan with two limits, and without plans, in turns: medians of ${rounds} rounds of ${seconds} s with ${CONNECTIONS} connections.`
  return { title: 'Limits of API keys', how, figures }
}

async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const sql = connect(serverUrl, { max: 1, onnotice: () => undefined })
  await sql.unsafe(`create database ${name}`)
  await sql.end()
  return serverUrl.replace(/\/postgres$/, `/${name}`)
}

async function start(folder: string, databaseUrl: string, env: Readonly<Record<string, string>> = {}): Promise<Contender> {
  const service = await startOn(folder, databaseUrl, env)
  const { token } = await logIn(service.url, ADMIN.email, ADMIN.password)
  const { body } = await ask(service.url, { method: 'POST', path: '/users/keys', token, body: { name: 'bench' } })
  // The response contains the new key.
  const { key } = JSON.parse(body) as { key: string }
  return { service, headers: { 'x-api-key': key }, rates: [] }
}
