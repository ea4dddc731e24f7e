import type { Figure, Section } from './figures.ts'
import { rounded } from './latency.ts'
import type { PagesFigures, ScaleFigures } from './scale.ts'
import type { SearchFigures, TermKind } from './scale-search.ts'

const LATE_PAGE = 1000

/** The lists of the console, with the largest number of users next to a hundred. */
export function pagesSection(measured: readonly PagesFigures[]): Section {
  const shown = (measured[0]?.users ?? 0).toLocaleString('en')
  return {
    title: 'Lists of the console',
    how: `One request at a time, with ${shown} users and with a hundred, alternating; each user has an API key and a mail. The slowest p50 of one kind of page: of /console/users with every status, of each on the first page and on one in the middle; for searches, in every order too.`,
    figures: measured.flatMap(({ database, pages }) =>
      pages.flatMap(({ kind, name, latency, withFew }): Figure[] => {
        const title = `${nameOf(database)}: ${kind}, ${name}, p50`
        return [
          { name: `${title}, ${shown} users`, value: latency.p50Ms, unit: 'ms', atMost: kind === 'search' ? 300 : 50 },
          ...(kind === 'search' ? [] : [{ name: `${title}, 100 users`, value: withFew.p50Ms, unit: 'ms' }]),
        ]
      }),
    ),
  }
}

/** The figures for the largest number of users, for each database. */
export function scaleSection(scale: readonly ScaleFigures[]): Section {
  const most = Math.max(...scale.map(({ users }) => users))
  return {
    title: `${most.toLocaleString('en')} users`,
    how: 'One request at a time, and /heartbeat every 20 ms meanwhile. Of the searches of one kind, the slowest p95 over all fields. Login and /users/me alternate with a service that has a hundred users.',
    figures: scale.filter(({ users }) => users === most).flatMap(figuresOf),
  }
}

function figuresOf({ database, storage, hotPath, list, search }: ScaleFigures): Figure[] {
  const name = nameOf(database)
  const slowest = (term: TermKind, page: number, atMost?: number): Figure => ({
    name: `${name}: search, ${LABELS[term]}, page ${page}, p95`,
    value: slowestP95(search.searches, term, page),
    unit: 'ms',
    atMost,
  })
  return [
    { name: `${name}: size of the database`, value: storage.megabytes, unit: 'MB' },
    { name: `${name}: users inserted directly`, value: storage.usersPerSecond, unit: 'a second' },
    { name: `${name}: check for migrations at a start`, value: storage.migrateMs, unit: 'ms' },
    slowest('rare', 1, 50),
    slowest('rare', LATE_PAGE, 50),
    slowest('address', 1, 50),
    slowest('frequent', 1, 150),
    slowest('frequent', LATE_PAGE, 150),
    slowest('everyone', 1),
    slowest('everyone', LATE_PAGE),
    { name: `${name}: /heartbeat during searches, p99`, value: search.heartbeat.p99Ms, unit: 'ms', atMost: 50 },
    { name: `${name}: login, relative to 100 users`, value: hotPath.login.ratio, unit: '×', atMost: 1.15 },
    { name: `${name}: /users/me, relative to 100 users`, value: hotPath.me.ratio, unit: '×', atMost: 1.15 },
    { name: `${name}: whole list, first byte`, value: list.firstByteMs, unit: 'ms', atMost: 200 },
    { name: `${name}: whole list, last byte`, value: rounded(list.totalMs / 1000), unit: 's' },
    { name: `${name}: whole list, extra memory`, value: list.extraMemoryMb, unit: 'MB', atMost: 64 },
    { name: `${name}: /heartbeat during the list, p99`, value: list.heartbeat.p99Ms, unit: 'ms', atMost: 50 },
  ]
}

function nameOf(database: ScaleFigures['database']): string {
  return database === 'sqlite' ? 'SQLite' : 'PostgreSQL'
}

const LABELS: Readonly<Record<TermKind, string>> = {
  rare: 'rare term',
  address: 'whole address',
  frequent: 'term of every tenth user',
  everyone: 'term of every user',
}

export function slowestP95(searches: readonly SearchFigures[], term: TermKind, page: number): number {
  return Math.max(...searches.filter((search) => search.term === term && search.page === page).map(({ p95Ms }) => p95Ms))
}
