import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import connect from 'postgres'
import { startPostgres } from '../test/support/databases/postgres-server.ts'
import { ask, logIn } from './client.ts'
import { ADMIN, SECRET_KEY } from './contenders.ts'
import { type Figure, median, type Report, ratioOf, type Section } from './figures.ts'
import type { LoadGenerator } from './load.ts'
import { type BenchProcess, startProcess } from './process.ts'

const AUDITED = fileURLToPath(new URL('./audited.ts', import.meta.url))
const LOGIN_CONNECTIONS = 8
// Changes of one account run one at a time on PostgreSQL; many more would wait too long.
const WRITE_CONNECTIONS = 16
const JSON_TYPE = { 'content-type': 'application/json' }

type Service = BenchProcess & { readonly url: string; readonly keyUrl: string; readonly headers: Readonly<Record<string, string>> }
type Measured = 'logins' | 'writes' | 'reads'

/** Compares the service with its audit trail to the same service without. The two take turns. */
export async function measureAudit(generator: LoadGenerator, folder: string, report: Report, rounds = 5, seconds = 2): Promise<Section> {
  const postgres = await startPostgres()
  const databases = {
    SQLite: { on: `sqlite:${join(folder, 'audited.db')}`, off: `sqlite:${join(folder, 'unaudited.db')}` },
    PostgreSQL: { on: postgres.url, off: await createDatabase(postgres.url, 'unaudited') },
  }
  const figures: Figure[] = []
  try {
    for (const [name, urls] of Object.entries(databases)) {
      const on = await start(folder, 'on', urls.on)
      const off = await start(folder, 'off', urls.off)
      for (const [measured, atLeast] of [
        ['logins', 0.95],
        ['writes', 0.85],
        ['reads', 0.97],
      ] as const) {
        const [withTrail, without] = await takeTurns(generator, [on, off], measured, rounds, seconds, (round) =>
          report(`audit trail: ${measured}, ${name}, round ${round} of ${rounds}`),
        )
        figures.push(
          { name: `${measured} with the audit trail, relative to without, ${name}`, ...ratioOf(withTrail, without), atLeast },
          { name: `${measured} with the audit trail, ${name}`, value: median(withTrail), unit: '1/s' },
        )
      }
      await Promise.all([on.stop(), off.stop()])
    }
  } finally {
    await postgres.stop()
  }
  const how = `The service with its audit trail and without it, in turns: medians of ${rounds} rounds of ${seconds} s. Writes are PATCH /users/keys/{key_id} with ${WRITE_CONNECTIONS} connections, logins POST /login/ with ${LOGIN_CONNECTIONS}, reads GET /users/me with ${WRITE_CONNECTIONS}.`
  return { title: 'Audit trail', how, figures }
}

async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const sql = connect(serverUrl, { max: 1, onnotice: () => undefined })
  await sql.unsafe(`create database ${name}`)
  await sql.end()
  return serverUrl.replace(/\/postgres$/, `/${name}`)
}

async function start(folder: string, mode: 'on' | 'off', databaseUrl: string): Promise<Service> {
  const env = { SECRET_KEY, ADMIN_EMAIL: ADMIN.email, ADMIN_PASSWORD: ADMIN.password, DATABASE_URL: databaseUrl }
  const service = await startProcess(['--max-semi-space-size=4', AUDITED, mode], folder, env, /listens on (\S+)\n/)
  const url = service.ready[1] ?? ''
  const { token } = await logIn(url, ADMIN.email, ADMIN.password)
  const { body } = await ask(url, { method: 'POST', path: '/users/keys', token, body: { name: 'bench' } })
  // The response contains the new key.
  const { id, key } = JSON.parse(body) as { id: string; key: string }
  return { ...service, url, keyUrl: `${url}/users/keys/${id}`, headers: { 'x-api-key': key } }
}

async function takeTurns(
  generator: LoadGenerator,
  [on, off]: readonly [Service, Service],
  measured: Measured,
  rounds: number,
  seconds: number,
  onRound: (round: number) => void,
): Promise<readonly [on: readonly number[], off: readonly number[]]> {
  const samples: [number[], number[]] = [[], []]
  for (let round = 0; round <= rounds; round++) {
    if (round > 0) onRound(round)
    for (const [place, service] of [on, off].entries()) {
      const { requestsPerSecond } = await generator.run({ ...loadOf(service, measured), seconds })
      // The first round warms up.
      if (round > 0) samples[place]?.push(requestsPerSecond)
    }
  }
  return samples
}

function loadOf({ url, keyUrl, headers }: Service, measured: Measured) {
  if (measured === 'logins')
    return {
      url: `${url}/login/`,
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify(ADMIN),
      connections: LOGIN_CONNECTIONS,
    } as const
  if (measured === 'reads') return { url: `${url}/users/me`, headers, connections: WRITE_CONNECTIONS }
  const body = JSON.stringify({ name: 'renamed' })
  return { url: keyUrl, method: 'PATCH', headers: { ...headers, ...JSON_TYPE }, body, connections: WRITE_CONNECTIONS } as const
}
