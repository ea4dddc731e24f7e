import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../app/eventually.ts'
import { newEmail } from '../app/requests.ts'
import { scaled } from '../processes/scale.ts'
import { type ServiceProcess, startProcess } from '../processes/service-process.ts'
import { startSmtpPeer } from '../servers/smtp-peer.ts'
import { ask, EXPECTED_STATUSES, registration, startTraffic, type TimedResponse, tally } from './traffic.ts'

// Long enough for every deadline of the service to strike, more than once in the long form.
const OUTAGE_MS = scaled(3500, 20_000)
export const RESPONSE_MS = 3000
const START_MS = 30_000
export const RECOVERY_MS = 5000
const AFTER_MS = scaled(1200, 5000)
export const PROMPT_MS = 500
const EVERY_MS = 40
const CONTROL_EVERY_MS = 120
// On a machine that makes a healthy service so slow, or beside a service that is so slow when healthy, nothing can be told.
const CONTROL_MS = 2 * RESPONSE_MS

/** What a database that can be read, and not written, still serves. */
export const READS = ['GET /users/me', 'POST /refresh/', 'POST /login/']

const MEMBER = { email: 'member@example.com', password: 'somebody who is verified' }
/** Settings that create the account which the traffic uses. */
export const WITH_MEMBER = { ADMIN_EMAIL: MEMBER.email, ADMIN_PASSWORD: MEMBER.password }

export type ServiceUnderTest = {
  readonly service: ServiceProcess
  /** The headers of somebody who is verified. */
  readonly member: Readonly<Record<string, string>>
  /** The addresses that the database holds. */
  emails(): Promise<string[]>
}

export type Outage = {
  begin(): Promise<void> | void
  end(): Promise<void> | void
  /** What it leaves alone, so that it has to be served meanwhile as at all times. */
  readonly mustPass?: readonly string[]
  /** What may be served and may be refused. */
  readonly mayPass?: readonly string[]
}

export async function signIn(url: string): Promise<ServiceUnderTest['member']> {
  const { body } = await ask(url, 'POST', '/login/', MEMBER)
  return { authorization: `Bearer ${(body as { token: string }).token}` }
}

/** Traffic before, during and after a fault; then the count of what was promised and what is there. */
export async function runOutage(t: TestContext, { service, member, emails }: ServiceUnderTest, fault: Outage): Promise<void> {
  const control = await startControlService(t)
  const traffic = startTraffic(t, service.url, EVERY_MS, member)
  // From then on every visit is what it is meant to be, however long a busy machine takes to get there.
  await until('each request served before the fault', () => servedAll(traffic.answers), START_MS)
  await fault.begin()
  const beganAt = performance.now()
  await sleep(OUTAGE_MS)
  const duringEndsAt = performance.now()
  await fault.end()
  const endedAt = performance.now()
  const recoveryMs = await untilServing(service.url, endedAt)
  const since = () => traffic.answers.filter(({ atMs }) => atMs > endedAt + recoveryMs)
  await sleep(AFTER_MS)
  await until('each request served after the fault', () => servedAll(since()), START_MS)
  await traffic.stop()
  const machineMs = await control.slowestMs()

  assert.equal(service.process.exitCode, null, 'the process lives')
  const during = traffic.answers.filter(({ atMs, tookMs }) => atMs >= beganAt && atMs + tookMs < duringEndsAt)
  assertResponses(traffic.answers, machineMs)
  assertNothingServed(during, fault)
  const asked = traffic.answers.filter(({ atMs }) => atMs >= beganAt && atMs < duringEndsAt)
  assertServed(asked, fault.mustPass ?? [], machineMs)
  const limitMs = RECOVERY_MS + machineMs
  assert.ok(recoveryMs <= limitMs, `it serves again within ${limitMs} ms: ${recoveryMs}`)
  const after = since()
  assert.deepEqual(
    after.filter((answer) => !isServed(answer)),
    [],
    'once it serves again, it refuses nothing',
  )
  const lost = missing(await emails(), traffic.registered)
  assert.deepEqual(lost, [], 'acknowledged registrations are there')
  t.diagnostic(
    `during the fault ${during.length} requests (${tally(during)}), ${slowest(during)}, a service beside it at most ${Math.round(machineMs)} ms; ` +
      `serving again after ${Math.round(recoveryMs)} ms, ${after.length} requests since (${tally(after)}); ${traffic.registered.length} acknowledged registrations, ${lost.length} lost`,
  )
}

export type ControlService = {
  /** What its slowest answer took from beginning to end. It is asked nothing more. */
  slowestMs(): Promise<number>
}

/**
 * A service that nothing is wrong with, on the same machine, asked the same at the same time. What its answers take is the machine's
 * doing and not the fault's: so much more than what is promised is allowed, which is next to nothing where nobody else is at work.
 */
export async function startControlService(t: TestContext): Promise<ControlService> {
  const peer = await startSmtpPeer(t)
  const { url } = await startProcess(t, { SMTP_URL: peer.url, LOG_LEVEL: 'warn' })
  const traffic = startTraffic(t, url, CONTROL_EVERY_MS)
  return {
    async slowestMs() {
      await traffic.stop()
      const wrong = traffic.answers.filter((answer) => !isServed(answer))
      assert.deepEqual(wrong, [], 'the service that nothing is wrong with')
      assertInTime(traffic.answers, CONTROL_MS)
      return slowestOf(traffic.answers)
    },
  }
}

/** What holds for every answer, whatever the fault: it is right or a refusal, it has its words, and it comes in time. */
export function assertResponses(answers: readonly TimedResponse[], machineMs: number): void {
  assert.deepEqual(
    answers.filter((answer) => answer.status !== 503 && !isServed(answer)),
    [],
    'nothing but 503 and the right answers',
  )
  assert.deepEqual(
    answers.filter(({ status, retryAfter }) => status === 503 && retryAfter === null),
    [],
    '503 says when to try again',
  )
  // What is served has waited for no longer than what is refused: nobody holds on to a request in the hope of better times.
  assertInTime(answers, RESPONSE_MS + machineMs)
  assertServed(answers, ['GET /heartbeat'], machineMs)
}

function assertInTime(answers: readonly TimedResponse[], limitMs: number): void {
  assert.deepEqual(
    answers.filter(({ tookMs }) => tookMs > limitMs),
    [],
    `an answer comes within ${limitMs} ms`,
  )
}

/** Requests that feel nothing of a fault: there were some, all were served, and none of them waited. */
function assertServed(answers: readonly TimedResponse[], kinds: readonly string[], machineMs: number): void {
  for (const kind of kinds) {
    const ofKind = answers.filter(({ what }) => what === kind)
    assert.ok(ofKind.length > 0, `${kind} was asked for`)
    assert.deepEqual(
      ofKind.filter((answer) => !isServed(answer)),
      [],
      `${kind} goes on`,
    )
    assertInTime(ofKind, PROMPT_MS + machineMs)
  }
}

function isServed({ what, status }: TimedResponse): boolean {
  return status === EXPECTED_STATUSES[what]
}

function servedAll(answers: readonly TimedResponse[]): boolean {
  return Object.keys(EXPECTED_STATUSES).every((kind) => answers.some((answer) => answer.what === kind && isServed(answer)))
}

function assertNothingServed(during: readonly TimedResponse[], { mustPass = [], mayPass = [] }: Outage): void {
  // The first moments belong to what was on its way already.
  const begins = (during[0]?.atMs ?? 0) + 500
  const untouched = ['GET /heartbeat', ...mustPass, ...mayPass]
  const needsDatabase = during.filter(({ what, atMs }) => !untouched.includes(what) && atMs > begins)
  assert.ok(needsDatabase.length > 0)
  assert.deepEqual(needsDatabase.filter(isServed), [], 'nothing is served that needs the database')
}

/** "slowest 503 after 2100 ms, heartbeat after 12 ms" */
export function slowest(answers: readonly TimedResponse[]): string {
  const refusals = answers.filter(({ status }) => status === 503)
  const heartbeats = answers.filter(({ what }) => what === 'GET /heartbeat')
  return `slowest 503 after ${Math.round(slowestOf(refusals))} ms, heartbeat after ${Math.round(slowestOf(heartbeats))} ms`
}

function slowestOf(answers: readonly TimedResponse[]): number {
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
