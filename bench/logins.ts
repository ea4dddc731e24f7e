import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ADMIN, startOn } from './contenders.ts'
import { median, type Report, ratioOf, type Section } from './figures.ts'
import type { LoadGenerator } from './load.ts'
import { startProcess } from './process.ts'

const RAW = fileURLToPath(new URL('./raw-argon2.ts', import.meta.url))
// Enough to keep all cores busy, and few enough that no login is refused.
const CONNECTIONS = 8

/** Compares logins per second with argon2id alone on all cores. The two take turns. */
export async function measureLogins(generator: LoadGenerator, folder: string, report: Report, rounds = 9, seconds = 3): Promise<Section> {
  const service = await startOn(folder, `sqlite:${join(folder, 'logins.db')}`)
  const load = {
    url: `${service.url}/login/`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ADMIN),
    connections: CONNECTIONS,
  } as const
  const logins: number[] = []
  const checks: number[] = []
  try {
    await generator.run({ ...load, seconds: 2 })
    for (let round = 1; round <= rounds; round++) {
      report(`logins: round ${round} of ${rounds}`)
      logins.push((await generator.run({ ...load, seconds })).requestsPerSecond)
      checks.push(await rawChecks(folder, seconds))
    }
  } finally {
    await service.stop()
  }
  return {
    title: 'Logins',
    how: `Medians of ${rounds} rounds of ${seconds} s, alternating: POST /login/ with ${CONNECTIONS} connections, and argon2id with the same parameters in a process that does nothing else.`,
    figures: [
      { name: 'POST /login/, relative to argon2id alone', ...ratioOf(logins, checks), atLeast: 0.94 },
      { name: 'POST /login/, SQLite', value: median(logins), unit: '1/s' },
      { name: 'argon2id alone, all cores', value: median(checks), unit: '1/s' },
    ],
  }
}

async function rawChecks(folder: string, seconds: number): Promise<number> {
  const raw = await startProcess([RAW, String(seconds)], folder, {}, /checks (\S+) a second\n/)
  await raw.stop()
  return Number(raw.ready[1])
}
