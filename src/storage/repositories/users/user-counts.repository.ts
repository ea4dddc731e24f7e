import type { Role, UserCounts } from '../../../model/user.ts'
import { type Bit, longRead, type Reads } from '../../database.ts'

const DAY_MS = 24 * 60 * 60_000

type GroupRow = {
  /** Days since 1970, or -1 for everything before the counted days. */
  readonly day: number
  readonly verified: Bit
  readonly banned: Bit
  readonly role: Role
  readonly count: number
  readonly last_id: number
}

const COUNT_PART = longRead<GroupRow>(`
  select case when created_at >= $2 then created_at / ${DAY_MS} else -1 end as day, verified, banned, role, count(*) as count, max(id) as last_id
  from (select id, created_at, verified, banned, role from users where id > $1 order by id limit $3) as part
  group by 1, 2, 3, 4`)

export type CountOptions = {
  readonly now: number
  /** For how many days, today included, new users are counted. Days begin at midnight, UTC. */
  readonly days: number
  /** How many users one statement reads: few enough for the deadline of a statement. */
  readonly partSize: number
  /** Called when the first part is not all. */
  readonly onLong: () => void
}

/** Counts all users by status, and the new ones of each of the last days, part by part: however many there are, no statement is long. */
export async function countUsers(db: Reads, options: CountOptions): Promise<UserCounts> {
  const { now, days } = options
  const firstDay = Math.floor(now / DAY_MS) - days + 1
  const counts = { all: 0, active: 0, unverified: 0, banned: 0, admin: 0 }
  const byDay = new Map<number, number>()
  for await (const groups of partsOf(db, firstDay * DAY_MS, options)) {
    counts.all += sum(groups)
    counts.active += sum(groups.filter(({ verified, banned }) => verified && !banned))
    counts.unverified += sum(groups.filter(({ verified }) => !verified))
    counts.banned += sum(groups.filter(({ banned }) => banned))
    counts.admin += sum(groups.filter(({ role }) => role === 'admin'))
    for (const { day, count } of groups) byDay.set(day, (byDay.get(day) ?? 0) + count)
  }
  return {
    ...counts,
    perDay: Array.from({ length: days }, (_, n) => ({ startsAt: (firstDay + n) * DAY_MS, count: byDay.get(firstDay + n) ?? 0 })),
  }
}

async function* partsOf(db: Reads, since: number, { partSize, onLong }: CountOptions): AsyncIterable<readonly GroupRow[]> {
  for (let lastId = 0; ; ) {
    const groups = await db.all(COUNT_PART, lastId, since, partSize)
    yield groups
    if (sum(groups) < partSize) return
    onLong()
    lastId = Math.max(...groups.map(({ last_id }) => last_id))
  }
}

function sum(groups: readonly GroupRow[]): number {
  return groups.reduce((total, { count }) => total + count, 0)
}
