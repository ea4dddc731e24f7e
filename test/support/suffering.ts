import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from './eventually.ts'
import { newEmail } from './requests.ts'
import { scaled } from './scale.ts'
import type { ServiceProcess } from './service-process.ts'
import { type Answered, ask, registration, startTraffic, type Traffic, tally } from './traffic.ts'

// Long enough for every deadline of the service to strike, more than once in the long form.
const FAULT_MS = scaled(3500, 20_000)
export const ANSWER_MS = 3000
const START_MS = 30_000
export const RECOVERY_MS = 5000

/** What a database that can be read, and not written, still serves. */
export const READS = ['POST /refresh/', 'POST /login/']

export type Sufferer = {
  readonly service: ServiceProcess
  /** The addresses that the database holds. */
  emails(): Promise<string[]>
}

export type Fault = { begin(): Promise<void> | void; end(): Promise<void> | void }

/** Traffic before, during and after a fault; then the count of what was promised and what is there. `mayPass` names what the fault leaves alone. */
export async function suffer(t: TestContext, { service, emails }: Sufferer, fault: Fault, mayPass: readonly string[] = []): Promise<void> {
  const traffic = startTraffic(t, service.url)
  // From then on every visit needs the database, however long a busy machine takes to get there.
  await until('registrations before the fault', () => traffic.registered.length > 2, START_MS)
  await fault.begin()
  const beganAt = performance.now()
  await sleep(FAULT_MS)
  const duringEndsAt = performance.now()
  await fault.end()
  const endedAt = performance.now()
  const recoveryMs = await untilServing(service.url, endedAt)
  await sleep(scaled(300, 1500))
  await traffic.stop()

  assert.equal(service.process.exitCode, null, 'the process lives')
  const during = traffic.answers.filter(({ atMs, tookMs }) => atMs >= beganAt && atMs + tookMs < duringEndsAt)
  const calm = traffic.answers.filter(({ atMs, tookMs }) => atMs + tookMs < beganAt || atMs > endedAt + recoveryMs)
  judge(traffic, during, calm, mayPass)
  // What shows that it serves again takes its time in calm times too.
  const limitMs = RECOVERY_MS + slowestOf(calm)
  assert.ok(recoveryMs <= limitMs, `it serves again within ${limitMs} ms: ${recoveryMs}`)
  const after = traffic.answers.filter(({ atMs }) => atMs > endedAt + limitMs)
  assert.deepEqual(
    after.filter(({ status }) => status === 503 || status === 0),
    [],
  )
  const lost = missing(await emails(), traffic.registered)
  assert.deepEqual(lost, [], 'acknowledged registrations are there')
  t.diagnostic(
    `during the fault ${during.length} requests (${tally(during)}), slowest ${Math.round(slowestOf(during))} ms (${Math.round(slowestOf(calm))} ms in calm times); serving again after ${Math.round(recoveryMs)} ms; ` +
      `${traffic.registered.length} acknowledged registrations, ${lost.length} lost`,
  )
}

function judge({ answers }: Traffic, during: readonly Answered[], calm: readonly Answered[], mayPass: readonly string[]): void {
  const heartbeats = answers.filter(({ what }) => what === 'GET /heartbeat')
  assert.deepEqual(
    heartbeats.filter(({ status }) => status !== 200),
    [],
    'the heartbeat goes on',
  )
  const allowed = new Set([200, 201, 401, 503])
  assert.deepEqual(
    answers.filter(({ status }) => !allowed.has(status)),
    [],
    'nothing but answers, and none of them 500',
  )
  assert.deepEqual(
    answers.filter(({ status, retryAfter }) => status === 503 && retryAfter === null),
    [],
    '503 says when to try again',
  )
  assert.deepEqual(late(answers, calm), [], `a refusal comes within ${ANSWER_MS} ms`)
  // The first moments belong to what was on its way already.
  const begins = (during[0]?.atMs ?? 0) + 500
  const needsDatabase = during.filter(({ what, atMs }) => what !== 'GET /heartbeat' && atMs > begins)
  assert.ok(needsDatabase.length > 0)
  const served = needsDatabase.filter(({ status, what }) => status !== 503 && !mayPass.includes(what))
  assert.deepEqual(served, [], 'nothing is served that needs the database')
}

/**
 * The refusals that came too late. What a heartbeat takes, which waits for nothing, and what an answer takes in calm times, is the
 * machine's and not the fault's: where the machine is shared with other work, that much more is allowed.
 */
export function late(answers: readonly Answered[], calm: readonly Answered[]): Answered[] {
  const heartbeats = answers.filter(({ what }) => what === 'GET /heartbeat')
  const limitMs = ANSWER_MS + slowestOf([...heartbeats, ...calm])
  return answers.filter(({ status, tookMs }) => status === 503 && tookMs > limitMs)
}

function slowestOf(answers: readonly Answered[]): number {
  return Math.max(0, ...answers.map(({ tookMs }) => tookMs))
}

export async function untilServing(url: string, since: number): Promise<number> {
  while (performance.now() - since < 30_000) {
    const [ready, write] = [await ask(url, 'GET', '/ready'), await ask(url, 'POST', '/register/', registration(newEmail()))]
    if (ready.status === 200 && write.status === 201) return performance.now() - since
    await sleep(50)
  }
  return Number.POSITIVE_INFINITY
}

export function missing(found: readonly string[], promised: readonly string[]): string[] {
  const present = new Set(found)
  return promised.filter((email) => !present.has(email))
}
