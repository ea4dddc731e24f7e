import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../app/eventually.ts'
import { newEmail } from '../http/requests.ts'
import { EVERYTHING_ON, WIDE_LIMITS } from '../processes/all-settings.ts'
import { scaled } from '../processes/scale.ts'
import { type ServiceProcess, startProcess } from '../processes/service-process.ts'
import { startSmtpPeer } from '../servers/smtp-peer.ts'
import { type Receiver, startReceiver, WEBHOOK_SECRET } from '../servers/webhook-receiver.ts'
import { ask, askPatiently, EXPECTED_STATUSES, registration, startTraffic, type TimedResponse, tally } from './traffic.ts'

// Longer than every deadline of the service, and several times as long in the long form.
const OUTAGE_MS = scaled(3500, 20_000)
export const RESPONSE_MS = 3000
const START_MS = 120_000
export const RECOVERY_MS = 5000
const AFTER_MS = scaled(1200, 5000)
export const PROMPT_MS = 500
const EVERY_MS = 40
const CONTROL_EVERY_MS = 120
// If the control service is slower than this, the machine is too busy for a result.
const CONTROL_MS = 2 * RESPONSE_MS

/** Requests that succeed while the database is read-only. */
export const READS = ['GET /users/me', 'POST /refresh/', 'POST /login/']
/** The same with limits: a login that cannot be counted is refused. */
export const READS_WITH_LIMITS = READS.filter((what) => what !== 'POST /login/')

const MEMBER = { email: 'member@example.com', password: 'a password for the member' }
/** Settings that create the account which the traffic uses. */
export const WITH_MEMBER = { ADMIN_EMAIL: MEMBER.email, ADMIN_PASSWORD: MEMBER.password }

/** Settings that turn on everything that is off by default. Webhooks need a receiver. */
export async function withEverything(t: TestContext): Promise<{ receiver: Receiver; env: Record<string, string> }> {
  const receiver = await startReceiver(t)
  return { receiver, env: { ...WITH_MEMBER, ...EVERYTHING_ON, RATE_LIMITS: WIDE_LIMITS, WEBHOOK_URL: receiver.url, WEBHOOK_SECRET } }
}

export type ServiceUnderTest = {
  readonly service: ServiceProcess
  /** The headers of a verified user. */
  readonly member: Readonly<Record<string, string>>
  /** The addresses in the database. */
  emails(): Promise<string[]>
}

export type Outage = {
  begin(): Promise<void> | void
  end(): Promise<void> | void
  /** Requests that the outage must not affect. */
  readonly mustPass?: readonly string[]
  /** Requests that may succeed or get 503. */
  readonly mayPass?: readonly string[]
}

export async function signIn(url: string): Promise<ServiceUnderTest['member']> {
  const { body } = await askPatiently(url, 'POST', '/login/', MEMBER)
  return { authorization: `Bearer ${(body as { token: string }).token}` }
}

/** Sends traffic before, during and after an outage, then compares acknowledged writes with the database. */
export async function runOutage(t: TestContext, { service, member, emails }: ServiceUnderTest, outage: Outage): Promise<void> {
  const control = await startControlService(t)
  const traffic = startTraffic(t, service.url, EVERY_MS, member)
  // From here on every kind of request has succeeded once, however long a busy machine takes.
  await until('each request served before the outage', () => servedAll(traffic.answers), START_MS)
  await outage.begin()
  const beganAt = performance.now()
  await sleep(OUTAGE_MS)
  const duringEndsAt = performance.now()
  await outage.end()
  const endedAt = performance.now()
  const recoveryMs = await untilServing(service.url, endedAt)
  const since = () => traffic.answers.filter(({ atMs }) => atMs > endedAt + recoveryMs)
  await sleep(AFTER_MS)
  await until('each request served after the outage', () => servedAll(since()), START_MS)
  await traffic.stop()
  const machineMs = await control.slowestMs()

  assert.equal(service.process.exitCode, null, 'the process is running')
  const during = traffic.answers.filter(({ atMs, tookMs }) => atMs >= beganAt && atMs + tookMs < duringEndsAt)
  assertResponses(traffic.answers, machineMs)
  assertNothingServed(during, outage)
  const asked = traffic.answers.filter(({ atMs }) => atMs >= beganAt && atMs < duringEndsAt)
  const isConclusive = (answer: TimedResponse) => !control.isRefusedByMachine(answer)
  assertServed(asked.filter(isConclusive), outage.mustPass ?? [], machineMs)
  const limitMs = RECOVERY_MS + machineMs
  assert.ok(recoveryMs <= limitMs, `it recovers within ${limitMs} ms: ${recoveryMs}`)
  const after = since()
  assertNo(after, (answer) => !isServed(answer) && isConclusive(answer), 'after the recovery every request is served')
  const lost = missing(await emails(), traffic.registered)
  assert.deepEqual(lost, [], 'acknowledged registrations are stored')
  t.diagnostic(
    `during the outage ${during.length} requests (${tally(during)}), ${slowest(during)}, control service at most ${Math.round(machineMs)} ms; ` +
      `recovered after ${Math.round(recoveryMs)} ms, ${after.length} requests since (${tally(after)}); ${traffic.registered.length} acknowledged registrations, ${lost.length} lost`,
  )
}

/**
 * Starts a healthy service on the same machine with the same traffic. Its response times are caused by the machine and not by the outage,
 * so they are added to every time limit. On an idle machine they are close to zero.
 */
export async function startControlService(t: TestContext) {
  const peer = await startSmtpPeer(t)
  const { url } = await startProcess(t, { SMTP_URL: peer.url, LOG_LEVEL: 'warn' })
  const traffic = startTraffic(t, url, CONTROL_EVERY_MS)
  return {
    /** Stops the traffic and returns the time of the slowest response. */
    async slowestMs(): Promise<number> {
      await traffic.stop()
      assertNo(traffic.answers, isWrong, 'the control service serves every request, or is too busy')
      assert.ok(traffic.answers.some(isServed), 'the control service serves')
      assertInTime(traffic.answers, CONTROL_MS)
      return slowestOf(traffic.answers)
    },
    /** Whether the machine was too busy for a request that got 503: meanwhile the control service was slow, or refused a request too. */
    isRefusedByMachine(answer: TimedResponse): boolean {
      const atTheSameTime = traffic.answers.filter(({ atMs, tookMs }) => atMs < answer.atMs + answer.tookMs && answer.atMs < atMs + tookMs)
      return answer.status === 503 && atTheSameTime.some(({ status, tookMs }) => status === 503 || tookMs > PROMPT_MS)
    },
  }
}

/** Asserts what holds for every response during any outage: it is correct or 503 with Retry-After, and it arrives in time. */
export function assertResponses(answers: readonly TimedResponse[], machineMs: number): void {
  assertNo(answers, isWrong, 'every response is 503 or correct')
  assertNo(answers, ({ status, retryAfter }) => status === 503 && retryAfter === null, '503 has Retry-After')
  // The limit also holds for requests that succeed: none is held until the outage is over.
  assertInTime(answers, RESPONSE_MS + machineMs)
  assertServed(answers, ['GET /heartbeat'], machineMs)
}

function assertInTime(answers: readonly TimedResponse[], limitMs: number): void {
  assertNo(answers, ({ tookMs }) => tookMs > limitMs, `a response arrives within ${limitMs} ms`)
}

function assertNo(answers: readonly TimedResponse[], isBad: (answer: TimedResponse) => boolean, rule: string): void {
  assert.deepEqual(answers.filter(isBad), [], rule)
}

/** Asserts that requests which the outage must not affect were sent, and that all of them were served without delay. */
function assertServed(answers: readonly TimedResponse[], kinds: readonly string[], machineMs: number): void {
  for (const kind of kinds) {
    const ofKind = answers.filter(({ what }) => what === kind)
    assert.ok(ofKind.length > 0, `${kind} was sent`)
    assertNo(ofKind, (answer) => !isServed(answer), `${kind} is served`)
    assertInTime(ofKind, PROMPT_MS + machineMs)
  }
}

function isServed({ what, status }: TimedResponse): boolean {
  return status === EXPECTED_STATUSES[what]
}

function isWrong(answer: TimedResponse): boolean {
  return answer.status !== 503 && !isServed(answer)
}

function servedAll(answers: readonly TimedResponse[]): boolean {
  return Object.keys(EXPECTED_STATUSES).every((kind) => answers.some((answer) => answer.what === kind && isServed(answer)))
}

function assertNothingServed(during: readonly TimedResponse[], { mustPass = [], mayPass = [] }: Outage): void {
  // Requests in flight when the outage began may still be served.
  const begins = (during[0]?.atMs ?? 0) + 500
  const untouched = ['GET /heartbeat', ...mustPass, ...mayPass]
  const needsDatabase = during.filter(({ what, atMs }) => !untouched.includes(what) && atMs > begins)
  assert.ok(needsDatabase.length > 0)
  assertNo(needsDatabase, isServed, 'no request that needs the database is served')
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

export function missing(found: readonly string[], expected: readonly string[]): string[] {
  const present = new Set(found)
  return expected.filter((email) => !present.has(email))
}
