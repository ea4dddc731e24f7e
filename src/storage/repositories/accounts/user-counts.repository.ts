import type { UserCounts } from '../../../model/user.ts'
import { longRead, type Reads } from '../../database.ts'

const DAY_MS = 24 * 60 * 60_000

type CountRow = Readonly<Record<'everyone' | 'active' | 'unverified' | 'banned' | 'admin', number>>

const COUNT = longRead<CountRow>(`
  select (select count(*) from users) as everyone,
    (select count(*) from users where verified = true and banned = false) as active,
    (select count(*) from users where verified = false) as unverified,
    (select count(*) from users where banned = true) as banned,
    (select count(*) from users where role = 'admin') as admin`)
const COUNT_PER_DAY = longRead<{ day: number; count: number }>(`
  select created_at / ${DAY_MS} as day, count(*) as count from users where created_at >= $1 group by created_at / ${DAY_MS}`)

/** Counts all users by status, and the new ones of each of the last days. Days begin at midnight, UTC. */
export async function countUsers(db: Reads, now: number, days: number): Promise<UserCounts> {
  const today = Math.floor(now / DAY_MS)
  const first = today - days + 1
  const [row, perDay] = await Promise.all([db.first(COUNT), db.all(COUNT_PER_DAY, first * DAY_MS)])
  const byDay = new Map(perDay.map(({ day, count }) => [Number(day), count]))
  return {
    all: row?.everyone ?? 0,
    active: row?.active ?? 0,
    unverified: row?.unverified ?? 0,
    banned: row?.banned ?? 0,
    admin: row?.admin ?? 0,
    perDay: Array.from({ length: days }, (_, n) => ({ startsAt: (first + n) * DAY_MS, count: byDay.get(first + n) ?? 0 })),
  }
}
