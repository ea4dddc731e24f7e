import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../test/support/databases/postgres-server.ts'
import { ask, logIn } from './client.ts'
import type { Load } from './load.ts'
import { type BenchProcess, startProcess } from './process.ts'
import { type BenchService, startService } from './service.ts'

/** A server and the request that is sent to it. */
export type Contender = { readonly process: BenchProcess; readonly load: Omit<Load, 'connections' | 'seconds'> }
export type Contenders = { readonly all: Readonly<Record<ContenderName, Contender>>; stop(): Promise<void> }
export type ContenderName =
  | 'bare'
  | 'sqliteToken'
  | 'sqliteKey'
  | 'sqliteMetrics'
  | 'sqliteRefresh'
  | 'postgresToken'
  | 'postgresKey'
  | 'sqliteCheckToken'
  | 'sqliteCheckKey'
  | 'postgresCheckToken'
  | 'postgresCheckKey'
  | 'peerSession'
  | 'peerKey'

export const ADMIN = { email: 'mia@example.com', password: 'correct horse' }
export const SECRET_KEY = 'kX4mQ9vT2wLp7RzB5nYc8HdF3gJs6Ua1'

const BARE = fileURLToPath(new URL('./bare.ts', import.meta.url))
const PEER = fileURLToPath(new URL('./peers/better-auth.mjs', import.meta.url))
const JSON_TYPE = { 'content-type': 'application/json' }

export function startOn(folder: string, databaseUrl: string, env: Readonly<Record<string, string>> = {}): Promise<BenchService> {
  const admin = { ADMIN_EMAIL: ADMIN.email, ADMIN_PASSWORD: ADMIN.password }
  return startService(folder, { SECRET_KEY, ...admin, DATABASE_URL: databaseUrl, ...env })
}

/** Starts all servers that are compared. All of them run the whole time, but only one at a time gets requests. */
export async function startContenders(folder: string): Promise<Contenders> {
  const postgres = await startPostgres()
  const bare = await startProcess([BARE], folder, {}, /listens on (\S+)\n/)
  const sqlite = await startOn(folder, `sqlite:${join(folder, 'plain.db')}`)
  const metrics = await startOn(folder, `sqlite:${join(folder, 'metrics.db')}`, { METRICS_ENABLED: 'true' })
  const onPostgres = await startOn(folder, postgres.url)
  const peer = await startProcess([PEER, join(folder, 'peer.db')], folder, {}, /listens on (\S+) with (\S+) and (.+)\n/)
  const [onSqliteWith, onMetricsWith, onPostgresWith] = await Promise.all([sqlite, metrics, onPostgres].map(credentials))
  const [, peerUrl = '', peerKey = '', cookie = ''] = peer.ready
  const get =
    (path: string) =>
    ({ url, ...process }: BenchService, headers: Readonly<Record<string, string>> = {}): Contender => ({
      process,
      load: { url: `${url}${path}`, headers },
    })
  const me = get('/users/me')
  const check = get('/auth/check')
  return {
    all: {
      bare: { process: bare, load: { url: `${bare.ready[1]}/users/me` } },
      sqliteToken: me(sqlite, onSqliteWith?.token),
      sqliteKey: me(sqlite, onSqliteWith?.key),
      sqliteMetrics: me(metrics, onMetricsWith?.token),
      sqliteRefresh: {
        process: sqlite,
        load: { url: `${sqlite.url}/refresh/`, method: 'POST', headers: JSON_TYPE, body: onSqliteWith?.refreshBody ?? '' },
      },
      postgresToken: me(onPostgres, onPostgresWith?.token),
      postgresKey: me(onPostgres, onPostgresWith?.key),
      sqliteCheckToken: check(sqlite, onSqliteWith?.token),
      sqliteCheckKey: check(sqlite, onSqliteWith?.key),
      postgresCheckToken: check(onPostgres, onPostgresWith?.token),
      postgresCheckKey: check(onPostgres, onPostgresWith?.key),
      peerSession: { process: peer, load: { url: `${peerUrl}/api/auth/get-session`, headers: { cookie } } },
      peerKey: { process: peer, load: { url: `${peerUrl}/verify`, headers: { 'x-api-key': peerKey } } },
    },
    async stop() {
      await Promise.all([bare, sqlite, metrics, onPostgres, peer].map((one) => one.stop()))
      await postgres.stop()
    },
  }
}

async function credentials({ url }: BenchService) {
  const { token, refresh } = await logIn(url, ADMIN.email, ADMIN.password)
  const { body } = await ask(url, { method: 'POST', path: '/users/keys', token, body: { name: 'bench' } })
  // The response contains the new key.
  const { key } = JSON.parse(body) as { key: string }
  return {
    token: { authorization: `Bearer ${token}` },
    key: { 'x-api-key': key },
    refreshBody: JSON.stringify({ refresh }),
  }
}
