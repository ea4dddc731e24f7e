import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ADMIN, startOn } from './contenders.ts'
import { median, type Report, type Section } from './figures.ts'
import type { LoadGenerator } from './load.ts'
import { startProcess } from './process.ts'

const RAW = fileURLToPath(new URL('./raw-argon2.ts', import.meta.url))
// Enough that the cores never wait for the next, and few enough that nobody is refused.
const CONNECTIONS = 8

/** Logins in a second beside what argon2id alone reaches with all cores, in turns. */
export async function measureLogins(generator: LoadGenerator, folder: string, report: Report, rounds = 7, seconds = 4): Promise<Section> {
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
    how: `Medians of ${rounds} rounds of ${seconds} s, in turns: POST /login/ with ${CONNECTIONS} connections, and argon2id with the same cost in a process that does nothing else.`,
    figures: [
      { name: 'POST /login/, of argon2id alone', value: median(logins) / median(checks), unit: '×', atLeast: 0.85 },
      { name: 'POST /login/, SQLite', value: median(logins), unit: '1/s' },
      { name: 'argon2id alone, all cores', value: median(checks), unit: '1/s' },
    ],
  }
}

async function rawChecks(folder: string, seconds: number): Promise<number> {
  const raw = await startProcess([RAW, String(seconds)], folder, {}, /checks (\S+) a second\n/)
  await raw.stop()
  return Number(raw.word[1])
}
