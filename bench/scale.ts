import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseTarget } from '../src/storage/database.ts'
import { migrate } from '../src/storage/open.ts'
import { withConnection } from '../src/storage/postgres/connections.ts'
import { startPostgres } from '../test/support/databases/postgres-server.ts'
import { newFolder } from '../test/support/databases/run-folder.ts'
import { logIn } from './client.ts'
import type { Report } from './figures.ts'
import { rounded } from './latency.ts'
import { populate, populateLists } from './population.ts'
import { type HotPathFigures, measureHotPath, type Populated } from './scale-hot-path.ts'
import { type ListFigures, measureList } from './scale-list.ts'
import { measurePages, type PageFigures } from './scale-pages.ts'
import { measureSearches, type SearchMeasures } from './scale-search.ts'
import { type BenchService, startService } from './service.ts'

export type ScaleFigures = {
  readonly database: DatabaseTarget['kind']
  readonly users: number
  readonly storage: StorageFigures
  readonly hotPath: HotPathFigures
  readonly list: ListFigures
  readonly search: SearchMeasures
}

/** The lists of the console, with the largest number of users only. */
export type PagesFigures = { readonly database: DatabaseTarget['kind']; readonly users: number; readonly pages: PageFigures[] }

type Growth = { readonly scale: ScaleFigures[]; readonly pages: PagesFigures[] }

export type GrowthOptions = { readonly sizes?: readonly number[] | undefined; readonly parts: ReadonlySet<string> }

export type StorageFigures = {
  /** The size of the whole database, with its indexes. */
  readonly megabytes: number
  /** How fast the users of this size were inserted, without events and without the checks of an import. */
  readonly usersPerSecond: number
  /** How long a start waits for migrations when none is pending. */
  readonly migrateMs: number
}

const SCALE_SIZES: readonly number[] = [1_000, 100_000, 1_000_000]
const FEW_USERS = 100

const ADMIN = { email: 'boss@bench.test', password: 'the first of all admins' }
const SETTINGS = { SECRET_KEY: 'kX4mQ9vT2wLp7RzB5nYc8HdF3gJs6Ua1', ADMIN_EMAIL: ADMIN.email, ADMIN_PASSWORD: ADMIN.password }

/**
 * Measures the service with a growing number of users on both databases, and the lists of the console with the largest number. Creates and
 * removes the databases that it needs.
 */
export async function measureScale(report: Report, { sizes = SCALE_SIZES, parts }: GrowthOptions): Promise<Growth> {
  const wanted = { sizes: parts.has('scale') ? sizes : sizes.slice(-1), parts }
  const folder = newFolder('scale')
  try {
    const sqlite = (name: string): DatabaseTarget => ({ kind: 'sqlite', file: join(folder, name) })
    const onSqlite = await measureGrowth(folder, sqlite('many.db'), sqlite('few.db'), wanted, report)
    const onOther = await onPostgres((many, few) => measureGrowth(folder, many, few, wanted, report))
    return { scale: [...onSqlite.scale, ...onOther.scale], pages: [...onSqlite.pages, ...onOther.pages] }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs the work with two empty databases on a separate PostgreSQL server with default settings. */
async function onPostgres<Result>(work: (many: DatabaseTarget, few: DatabaseTarget) => Promise<Result>): Promise<Result> {
  const [first, second] = [await startPostgres(), await startPostgres()]
  try {
    return await work({ kind: 'postgres', url: first.url }, { kind: 'postgres', url: second.url })
  } finally {
    await Promise.all([first.stop(), second.stop()])
  }
}

async function measureGrowth(
  folder: string,
  many: DatabaseTarget,
  few: DatabaseTarget,
  { sizes, parts }: Required<GrowthOptions> & { readonly sizes: readonly number[] },
  report: Report,
): Promise<Growth> {
  await Promise.all([migrate(many), migrate(few)])
  await populate(few, 0, FEW_USERS)
  const figures: Growth = { scale: [], pages: [] }
  let users = 0
  for (const size of sizes) {
    const startedAt = performance.now()
    await populate(many, users, size, (done, total) => report(`${many.kind}: ${users + done} of ${users + total} users inserted`))
    const usersPerSecond = Math.round((size - users) / ((performance.now() - startedAt) / 1000))
    users = size
    const storage = { megabytes: await megabytesOf(many), usersPerSecond, migrateMs: await migrateMs(many) }
    const hasPages = parts.has('pages') && size === sizes.at(-1)
    if (hasPages) {
      report(`${many.kind}: an API key and a mail for each user`)
      await Promise.all([populateLists(many), populateLists(few)])
    }
    const [service, reference] = [await serve(folder, many), await serve(folder, few)]
    try {
      const found = { database: many.kind, users }
      if (hasPages) figures.pages.push({ ...found, pages: await measurePagesOf(service, reference, users, report) })
      if (parts.has('scale')) figures.scale.push({ ...found, storage, ...(await measureSize(service, reference, users, report)) })
    } finally {
      await Promise.all([service.stop(), reference.stop()])
    }
  }
  return figures
}

async function megabytesOf(target: DatabaseTarget): Promise<number> {
  if (target.kind === 'sqlite') return rounded(statSync(target.file).size / 2 ** 20)
  return withConnection(target.url, {}, async (client) => {
    const [row] = await client<{ size: number }[]>`select pg_database_size(current_database()) as size`
    return rounded((row?.size ?? Number.NaN) / 2 ** 20)
  })
}

async function migrateMs(target: DatabaseTarget): Promise<number> {
  const startedAt = performance.now()
  await migrate(target)
  return rounded(performance.now() - startedAt)
}

function serve(folder: string, target: DatabaseTarget): Promise<BenchService> {
  const databaseUrl = target.kind === 'sqlite' ? `sqlite:${target.file}` : target.url
  return startService(folder, { ...SETTINGS, DATABASE_URL: databaseUrl })
}

type Measures = Pick<ScaleFigures, 'hotPath' | 'list' | 'search'>

async function measureSize(service: BenchService, reference: BenchService, users: number, report: Report): Promise<Measures> {
  const { token } = await logIn(service.url, ADMIN.email, ADMIN.password)
  report(`  login and /users/me with ${users} users`)
  const hotPath = await measureHotPath(...populated(service, reference, users))
  report('  the whole list')
  const list = await measureList(service, token)
  report('  searches')
  return { hotPath, list, search: await measureSearches(service.url, token, users) }
}

function measurePagesOf(service: BenchService, reference: BenchService, users: number, report: Report): Promise<PageFigures[]> {
  report(`  the lists of the console with ${users} users`)
  return measurePages(...populated(service, reference, users), ADMIN)
}

function populated(service: BenchService, reference: BenchService, users: number): [many: Populated, few: Populated] {
  return [
    { url: service.url, users },
    { url: reference.url, users: FEW_USERS },
  ]
}
