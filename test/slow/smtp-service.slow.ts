import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../support/app/eventually.ts'
import { freshDatabase } from '../support/databases/databases.ts'
import { newEmail } from '../support/http/requests.ts'
import { missing } from '../support/load/outage.ts'
import { comparePairs } from '../support/load/statistics.ts'
import { ask, quantile, registration } from '../support/load/traffic.ts'
import { IS_LONG, scaled } from '../support/processes/scale.ts'
import { type ServiceProcess, startProcess } from '../support/processes/service-process.ts'
import { startBrokenProxy } from '../support/servers/broken-proxy.ts'
import { type SmtpPeer, startSmtpPeer } from '../support/servers/smtp-peer.ts'

const REGISTRATIONS = scaled(8, 60)
const RECOVERY_MS = 30_000
// In the long form an unreachable mail server stays away for minutes.
const AWAY_MS = scaled(0, 150_000)

type Timings = { readonly emails: string[]; readonly failingMs: number[]; readonly healthyMs: number[] }

test('201: a failing mail server does not delay registrations; two processes send all mail once, within 30 seconds of its recovery', async (t) => {
  let reply: string | undefined
  const peer = await startSmtpPeer(t, {
    refuseRecipient: () => (reply?.startsWith('drop') ? undefined : reply),
    refuseMessage: () => (reply?.startsWith('drop') ? 'drop' : undefined),
  })
  const proxy = await startBrokenProxy(t, peer.port)
  const services = await startTwo(t, `smtp://127.0.0.1:${proxy.port}`)
  const healthyPeer = await startSmtpPeer(t)
  const [healthy] = await startTwo(t, healthyPeer.url)
  assert.ok(healthy)
  const answering = (text: string) => ({
    begin() {
      reply = text
    },
    end() {
      reply = undefined
    },
  })
  const outages = {
    'responds 451': answering('451 4.7.1 try later'),
    'responds 550 by policy': answering('550 5.7.1 relaying denied'),
    'closes the connection in the middle of a mail': answering('drop'),
    'rejects connections': { begin: () => proxy.set('closed'), end: () => proxy.set('open'), isAway: true },
    hangs: { begin: () => proxy.set('blackhole'), end: () => proxy.set('open'), isAway: true },
  }
  const all: string[] = []
  for (const [name, outage] of Object.entries(outages)) {
    outage.begin()
    const { emails, failingMs, healthyMs } = await registerSideBySide(services, healthy)
    all.push(...emails)
    await sleep('isAway' in outage ? AWAY_MS : 0)
    const before = peer.deliveries.length
    outage.end()
    const endedAt = performance.now()
    await until(`mail after it ${name}`, () => missing(recipients(peer), all).length === 0, RECOVERY_MS)
    const ratio = quantile(failingMs, 0.5) / quantile(healthyMs, 0.5)
    // The lower bound of the confidence interval excludes variations of the machine.
    const { lowMs } = comparePairs(failingMs.map((tookMs, index) => tookMs - (healthyMs[index] ?? 0)))
    assert.ok(lowMs < quantile(healthyMs, 0.5), `a registration takes at least ${lowMs} ms longer, ${ratio} times as long`)
    t.diagnostic(
      `it ${name}${IS_LONG && 'isAway' in outage ? ` for ${AWAY_MS / 1000} s` : ''}: ${emails.length} of ${emails.length} registrations with 201, median ${ratio.toFixed(2)} times that of a ` +
        `service with a healthy mail server; ${before - (all.length - emails.length)} mails sent meanwhile, all within ${Math.round((performance.now() - endedAt) / 1000)} s of its recovery`,
    )
  }
  // Without an outage, two processes send from one outbox.
  const steady = (await registerSideBySide(services, healthy)).emails
  all.push(...steady)
  await until('all mail is sent', () => missing(recipients(peer), steady).length === 0, RECOVERY_MS)
  await sleep(scaled(500, 65_000))
  const mailed = recipients(peer)
  // A mail whose response was lost is sent again: at least once during an outage, exactly once without.
  assert.deepEqual(new Set(mailed), new Set(all))
  for (const email of steady) assert.equal(mailed.filter((recipient) => recipient === email).length, 1)
  t.diagnostic(`${all.length} registrations over two processes, ${mailed.length} mails, ${mailed.length - new Set(mailed).size} sent twice`)
})

function recipients({ deliveries }: SmtpPeer): string[] {
  return deliveries.map(({ to }) => String(to))
}

/** Two processes on one PostgreSQL database. */
async function startTwo(t: TestContext, smtpUrl: string): Promise<ServiceProcess[]> {
  const target = await freshDatabase(t, 'postgres')
  const env = { DATABASE_URL: target.setting, SMTP_URL: smtpUrl, LOG_LEVEL: 'error' }
  return [await startProcess(t, env), await startProcess(t, env)]
}

/** Registers in turn with a failing and with a healthy mail server, so that both run under the same load of the machine. */
async function registerSideBySide(services: readonly ServiceProcess[], healthy: ServiceProcess): Promise<Timings> {
  const answers: Timings = { emails: [], failingMs: [], healthyMs: [] }
  for (let index = 0; index < REGISTRATIONS; index++) {
    const email = newEmail()
    const failing = await ask(services[index % services.length]?.url ?? '', 'POST', '/register/', registration(email))
    const control = await ask(healthy.url, 'POST', '/register/', registration(newEmail()))
    assert.deepEqual([failing.status, control.status], [201, 201])
    answers.emails.push(email)
    answers.failingMs.push(failing.tookMs)
    answers.healthyMs.push(control.tookMs)
  }
  return answers
}
