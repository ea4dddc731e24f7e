import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { ask, logIn } from './client.ts'
import { ADMIN, startOn } from './contenders.ts'
import type { Report, Section } from './figures.ts'
import { startHeartbeat } from './heartbeat.ts'
import type { LoadGenerator } from './load.ts'
import { watchMemory } from './memory.ts'

/** The input of the thread that sends the logins, and its result. */
export type StormOrder = { readonly url: string; readonly body: string; readonly perSecond: number; readonly seconds: number }
export type StormCount = {
  readonly statuses: Readonly<Record<string, number>>
  readonly granted: number
  readonly slowestRefusalMs: number
}

const SECONDS = 20
const TIMES_CAPACITY = 10
const CONNECTIONS = 8

/** Sends ten times as many logins as the cores can check, at a constant rate, and measures the effect on other requests. */
export async function measureStorm(generator: LoadGenerator, folder: string, report: Report): Promise<Section> {
  const service = await startOn(folder, `sqlite:${join(folder, 'storm.db')}`)
  try {
    report('login storm: measuring the capacity')
    const url = `${service.url}/login/`
    const load = { url, method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(ADMIN) } as const
    const { requestsPerSecond: capacity } = await generator.run({ ...load, connections: CONNECTIONS, seconds: 5 })
    const { token } = await logIn(service.url, ADMIN.email, ADMIN.password)
    report(`login storm: ${SECONDS} s`)
    const heartbeat = await startHeartbeat(service.url)
    // With a key, because the logins of the storm end older sessions of the account.
    const created = await ask(service.url, { method: 'POST', path: '/users/keys', token, body: { name: 'storm' } })
    const { key } = JSON.parse(created.body) as { key: string }
    const me = await startHeartbeat(service.url, { path: '/users/me', key })
    const memory = watchMemory(service)
    const count = await storm({ url, body: load.body, perSecond: capacity * TIMES_CAPACITY, seconds: SECONDS })
    const [beat, mine, peakMb] = [await heartbeat.stop(), await me.stop(), memory.stop().mostMb]
    const others = Object.entries(count.statuses).filter(([status]) => status !== '200' && status !== '503')
    return {
      title: 'Login storm',
      how: `Logins at ten times the capacity for ${SECONDS} s, sent at a constant rate whether or not earlier ones have been answered; meanwhile GET /users/me and /heartbeat every 20 ms.`,
      figures: [
        {
          name: 'successful logins during the storm, relative to the capacity',
          value: count.granted / SECONDS / capacity,
          unit: '×',
          atLeast: 0.9,
        },
        { name: 'slowest refusal (503)', value: count.slowestRefusalMs, unit: 'ms', atMost: 2500 },
        { name: 'responses other than 200 and 503', value: others.reduce((sum, [, number]) => sum + number, 0), unit: '', atMost: 0 },
        { name: 'GET /users/me, p99', value: mine.p99Ms, unit: 'ms', atMost: 20 },
        { name: '/heartbeat, p99', value: beat.p99Ms, unit: 'ms', atMost: 50 },
        { name: 'peak memory of the service', value: peakMb, unit: 'MB', atMost: 300 },
        { name: 'capacity', value: capacity, unit: '1/s' },
      ],
    }
  } finally {
    await service.stop()
  }
}

async function storm(order: StormOrder): Promise<StormCount> {
  const worker = new Worker(new URL('./storm.worker.ts', import.meta.url), { workerData: order })
  const [count] = (await once(worker, 'message')) as [StormCount]
  return count
}
