import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { KeyUsage } from '../src/model/usage.ts'
import { type Database, type DatabaseTarget, statement } from '../src/storage/database.ts'
import { migrate, openDatabase } from '../src/storage/open.ts'
import { withConnection } from '../src/storage/postgres/connections.ts'
import { addUsage, deleteUsageBefore, listUsageOfKey } from '../src/storage/repositories/plans/usage.repository.ts'
import { startPostgres } from '../test/support/databases/postgres-server.ts'
import type { Figure, Report, Section } from './figures.ts'
import { latencyOf, rounded } from './latency.ts'
import { populate } from './population.ts'

const KEYS = 3_000
const DAYS = 400
const EXTRAPOLATED_KEYS = 1_000_000
// As the service writes and deletes them.
const BATCH_SIZE = 500
const PRUNED_DAYS = 20
const READS = 300
// Coprime to the number of keys: keys arrive in another order than that of the table.
const STRIDE = 7919
const EMPTY_LOG = statement({ sqlite: 'pragma wal_checkpoint(truncate)', postgres: 'select 1' })

/** Fills the table of use with the rows of 400 days, by the statements of the service, and measures what that costs. */
export async function measureUse(folder: string, report: Report, keys = KEYS): Promise<Section> {
  const postgres = await startPostgres()
  const figures: Figure[] = []
  try {
    for (const [name, target] of [
      ['SQLite', { kind: 'sqlite', file: join(folder, 'use.db') }],
      ['PostgreSQL', { kind: 'postgres', url: postgres.url }],
    ] as const)
      figures.push(...(await measureOn(target, keys, name, report)))
  } finally {
    await postgres.stop()
  }
  const how = `${keys.toLocaleString('en')} keys that were used on each of ${DAYS} days, written in batches of ${BATCH_SIZE} rows and in another order than that of the table. Figures for a million keys are calculated from these.`
  return { title: 'Use of API keys', how, figures }
}

async function measureOn(target: DatabaseTarget, keys: number, name: string, report: Report): Promise<Figure[]> {
  await migrate(target)
  await populate(target, 0, keys)
  const before = await bytesOf(target)
  const db = await openDatabase(target)
  try {
    const writes = await fill(db, keys, (day) => report(`use: ${name}, day ${day} of ${DAYS}`))
    await db.all(EMPTY_LOG)
    const bytes = ((await bytesOf(target)) - before) / (keys * DAYS)
    const reads = await timesOf(READS, (round) => {
      const user = 1 + ((round * STRIDE) % keys)
      return listUsageOfKey(db, { from: 0, to: DAYS - 1 }, user, user)
    })
    report(`use: ${name}, deleting ${PRUNED_DAYS} days`)
    const deletes = await timesOf(Math.ceil((keys * PRUNED_DAYS) / BATCH_SIZE), () => deleteUsageBefore(db, PRUNED_DAYS, BATCH_SIZE))
    const [write, read, removal] = [latencyOf(writes), latencyOf(reads), latencyOf(deletes)]
    const batches = EXTRAPOLATED_KEYS / BATCH_SIZE
    const gigabytes = (bytes * EXTRAPOLATED_KEYS * DAYS) / 1e9
    return [
      { name: `bytes for each key and day, ${name}`, value: rounded(bytes), unit: 'bytes' },
      { name: `a million keys with ${DAYS} days, calculated, ${name}`, value: rounded(gigabytes), unit: 'GB' },
      { name: `writing ${BATCH_SIZE} rows, median, ${name}`, value: write.p50Ms, unit: 'ms' },
      { name: `writing ${BATCH_SIZE} rows, p99, ${name}`, value: write.p99Ms, unit: 'ms' },
      { name: `reading ${DAYS} days of one key, median, ${name}`, value: read.p50Ms, unit: 'ms' },
      { name: `deleting ${BATCH_SIZE} old rows, median, ${name}`, value: removal.p50Ms, unit: 'ms' },
      { name: `deleting ${BATCH_SIZE} old rows, p99, ${name}`, value: removal.p99Ms, unit: 'ms' },
      { name: `deleting a day of a million keys, calculated, ${name}`, value: rounded((batches * removal.p50Ms) / 1000), unit: 's' },
    ]
  } finally {
    await db.close()
  }
}

/** Writes the use of each day. Returns the time of each batch. */
async function fill(db: Database, keys: number, onDay: (day: number) => void): Promise<number[]> {
  const times: number[] = []
  for (let day = 0; day < DAYS; day++) {
    const rows = Array.from({ length: keys }, (_, place): KeyUsage => {
      const key = 1 + ((place * STRIDE) % keys)
      return { day, userId: key, keySeq: key, allowed: 1 + ((place * day) % 5000), limited: place % 7 }
    })
    const batches = Math.ceil(keys / BATCH_SIZE)
    const once = (batch: number) => db.transaction((tx) => addUsage(tx, rows.slice(batch * BATCH_SIZE, (batch + 1) * BATCH_SIZE)))
    times.push(...(await timesOf(batches, once)))
    if ((day + 1) % 100 === 0) onDay(day + 1)
  }
  return times
}

async function timesOf(rounds: number, once: (round: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const begunAt = performance.now()
    await once(round)
    times.push(performance.now() - begunAt)
  }
  return times
}

async function bytesOf(target: DatabaseTarget): Promise<number> {
  if (target.kind === 'sqlite') return statSync(target.file).size
  return withConnection(target.url, {}, async (client) => {
    const [row] = await client<{ size: number }[]>`select pg_total_relation_size('key_usage') as size`
    return Number(row?.size)
  })
}
