import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from './eventually.ts'
import { newEmail } from './requests.ts'
import { scaled } from './scale.ts'
import { type ServiceProcess, startProcess } from './service-process.ts'
import { startSmtpPeer } from './smtp-peer.ts'
import { type Answered, ask, registration, startTraffic, tally } from './traffic.ts'

// Long enough for every deadline of the service to strike, more than once in the long form.
const FAULT_MS = scaled(3500, 20_000)
export const ANSWER_MS = 3000
const START_MS = 30_000
export const RECOVERY_MS = 5000
const HEARTBEAT_MS = 500
const BYSTANDER_EVERY_MS = 120

/** What a database that can be read, and not written, still serves. */
export const READS = ['POST /refresh/', 'POST /login/']

export type Sufferer = {
  readonly service: ServiceProcess
  /** The addresses that the database holds. */
  emails(): Promise<string[]>
}

export type Fault = { begin(): Promise<void> | void; end(): Promise<void> | void }

/**
 * Traffic before, during and after a fault; then the count of what was promised and what is there. `mayPass` names what the fault
 * leaves alone.
 */
export async function suffer(t: TestContext, { service, emails }: Sufferer, fault: Fault, mayPass: readonly string[] = []): Promise<void> {
  const bystander = await startBystander(t)
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
  const machineMs = await bystander.slowestMs()

  assert.equal(service.process.exitCode, null, 'the process lives')
  const during = traffic.answers.filter(({ atMs, tookMs }) => atMs >= beganAt && atMs + tookMs < duringEndsAt)
  judge(traffic.answers, machineMs)
  nothingServed(during, mayPass)
  const limitMs = RECOVERY_MS + machineMs
  assert.ok(recoveryMs <= limitMs, `it serves again within ${limitMs} ms: ${recoveryMs}`)
  const after = traffic.answers.filter(({ atMs }) => atMs > endedAt + limitMs)
  assert.deepEqual(
    after.filter(({ status }) => status === 503 || status === 0),
    [],
  )
  const lost = missing(await emails(), traffic.registered)
  assert.deepEqual(lost, [], 'acknowledged registrations are there')
  t.diagnostic(
    `during the fault ${during.length} requests (${tally(during)}), ${slowest(during)}, a service beside it at most ${Math.round(machineMs)} ms; ` +
      `serving again after ${Math.round(recoveryMs)} ms; ${traffic.registered.length} acknowledged registrations, ${lost.length} lost`,
  )
}

export type Bystander = {
  /** What its slowest answer took from beginning to end. It is asked nothing more. */
  slowestMs(): Promise<number>
}

/**
 * A service that nothing is wrong with, on the same machine, asked the same at the same time. What its answers take is the machine's
 * doing and not the fault's: so much more than what is promised is allowed, which is next to nothing where nobody else is at work.
 */
export async function startBystander(t: TestContext): Promise<Bystander> {
  const peer = await startSmtpPeer(t)
  const { url } = await startProcess(t, { SMTP_URL: peer.url, LOG_LEVEL: 'warn' })
  const traffic = startTraffic(t, url, BYSTANDER_EVERY_MS)
  return {
    async slowestMs() {
      await traffic.stop()
      const wrong = traffic.answers.filter(({ status }) => ![200, 201, 401].includes(status))
      assert.deepEqual(wrong, [], 'the service that nothing is wrong with')
      return slowestOf(traffic.answers)
    },
  }
}

/** What holds for every answer, whatever the fault: its kind, its words and its time. */
export function judge(answers: readonly Answered[], machineMs: number): void {
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
  const limitMs = ANSWER_MS + machineMs
  assert.deepEqual(
    answers.filter(({ status, tookMs }) => status === 503 && tookMs > limitMs),
    [],
    `a refusal comes within ${limitMs} ms`,
  )
  const heartbeatMs = HEARTBEAT_MS + machineMs
  assert.deepEqual(
    answers.filter(({ what, status, tookMs }) => what === 'GET /heartbeat' && (status !== 200 || tookMs > heartbeatMs)),
    [],
    `the heartbeat goes on, within ${heartbeatMs} ms`,
  )
}

function nothingServed(during: readonly Answered[], mayPass: readonly string[]): void {
  // The first moments belong to what was on its way already.
  const begins = (during[0]?.atMs ?? 0) + 500
  const needsDatabase = during.filter(({ what, atMs }) => what !== 'GET /heartbeat' && atMs > begins)
  assert.ok(needsDatabase.length > 0)
  const served = needsDatabase.filter(({ status, what }) => status !== 503 && !mayPass.includes(what))
  assert.deepEqual(served, [], 'nothing is served that needs the database')
}

/** "slowest 503 after 2100 ms, heartbeat after 12 ms" */
export function slowest(answers: readonly Answered[]): string {
  const refusals = answers.filter(({ status }) => status === 503)
  const heartbeats = answers.filter(({ what }) => what === 'GET /heartbeat')
  return `slowest 503 after ${Math.round(slowestOf(refusals))} ms, heartbeat after ${Math.round(slowestOf(heartbeats))} ms`
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
