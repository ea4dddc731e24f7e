import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DatabaseKind, freshDatabase, temporaryFolder } from '../support/databases/databases.ts'
import { signIn, WITH_MEMBER } from '../support/load/outage.ts'
import { ask } from '../support/load/traffic.ts'
import { type ServiceProcess, startProcess } from '../support/processes/service-process.ts'

const LIMIT = 2000
// A refused client tries again soon, and leaves the processor to the other tests until then.
const REFUSED_MS = 200
const SECOND_AHEAD = '--import=data:text/javascript,globalThis.realNow=Date.now;Date.now=()=>realNow()+1000'

type Answers = { allowed: number; limited: number; other: number }
type Key = { readonly headers: Record<string, string>; readonly session: Record<string, string> }

async function createKey(url: string): Promise<Key> {
  const { authorization = '' } = await signIn(url)
  const { body } = await ask(url, 'POST', '/users/keys', { name: 'load' }, { authorization })
  return { headers: { 'x-api-key': (body as { key: string }).key }, session: { authorization } }
}

/** Requests by several clients at once, to all processes in turn, for a time or until so many have passed. */
async function flood(urls: readonly string[], { headers }: Key, { seconds = 60, until = Number.POSITIVE_INFINITY }): Promise<Answers> {
  const answers: Answers = { allowed: 0, limited: 0, other: 0 }
  const end = performance.now() + seconds * 1000
  let sent = 0
  async function client(): Promise<void> {
    while (performance.now() < end && answers.allowed < until) {
      const { status } = await ask(urls[sent++ % urls.length] ?? '', 'GET', '/auth/check', undefined, headers)
      if (status === 200) answers.allowed++
      else if (status === 429) answers.limited++
      else answers.other++
      if (status !== 429) continue
      if (until < Number.POSITIVE_INFINITY) return
      await sleep(REFUSED_MS)
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
  return answers
}

/** A limit is never exceeded by more than a twentieth, and nearly all of it can be used. */
function requireShare(allowed: number, limit: number, context: object): void {
  const figures = `${allowed} of ${limit} passed ${JSON.stringify(context)}`
  assert.ok(allowed <= limit * 1.05, figures)
  assert.ok(allowed >= limit * 0.95, figures)
}

async function start(t: TestContext, database: string, env: Record<string, string> = {}, folder = temporaryFolder(t)) {
  return startProcess(t, { ...WITH_MEMBER, PLANS: `free=${LIMIT}/m`, LOG_LEVEL: 'warn', DATABASE_URL: database, ...env }, folder)
}

async function end({ process: child }: ServiceProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'close')
  child.kill(signal)
  await ended
}

async function usedToday(url: string, { session }: Key): Promise<{ readonly allowed: number; readonly limited: number }> {
  const { body } = await ask(url, 'GET', '/users/me/usage?days=1', undefined, session)
  const [today = assert.fail('no use')] = body as { allowed: number; limited: number }[]
  return { allowed: today.allowed, limited: today.limited }
}

for (const count of [2, 4])
  test(`PostgreSQL: ${count} processes under load let one limit pass together`, async (t) => {
    const { setting } = await freshDatabase(t, 'postgres')
    const services = await Promise.all(Array.from({ length: count }, () => start(t, setting)))
    const urls = services.map(({ url }) => url)
    const key = await createKey(urls[0] ?? '')
    const answers = await flood(urls, key, { seconds: 8 })
    assert.ok(answers.limited > 0 && answers.other === 0, JSON.stringify(answers))
    requireShare(answers.allowed, LIMIT, answers)
    await Promise.all(services.map((service) => end(service, 'SIGTERM')))
    const after = await start(t, setting)
    assert.deepEqual(await usedToday(after.url, key), { allowed: answers.allowed, limited: answers.limited })
  })

test('SQLite: two and four workers under load let one limit pass together', async (t) => {
  for (const count of [2, 4]) {
    const { setting } = await freshDatabase(t, 'sqlite')
    const service = await start(t, setting, { WORKERS: String(count) })
    const key = await createKey(service.url)
    const answers = await flood([service.url], key, { seconds: 10 })
    assert.ok(answers.limited > 0 && answers.other === 0, JSON.stringify(answers))
    requireShare(answers.allowed, LIMIT, answers)
    await end(service, 'SIGTERM')
  }
})

for (const database of ['sqlite', 'postgres'] as const satisfies readonly DatabaseKind[])
  test(`${database}: a kill forgets nothing that was counted, and use is never counted twice`, async (t) => {
    const [{ setting }, folder] = [await freshDatabase(t, database), temporaryFolder(t)]
    const first = await start(t, setting, {}, folder)
    const key = await createKey(first.url)
    const before = await flood([first.url], key, { until: LIMIT / 2 })
    await end(first, 'SIGKILL')
    const second = await start(t, setting, {}, folder)
    const after = await flood([second.url], key, { seconds: 6 })
    const allowed = before.allowed + after.allowed
    assert.ok(allowed <= LIMIT * 1.05, `${allowed} passed`)
    // What the killed process held is lost for the rest of the window: at most a second of its requests.
    assert.ok(allowed >= LIMIT * 0.8, `${allowed} passed`)
    assert.ok(after.limited > 0)
    await end(second, 'SIGTERM')
    const third = await start(t, setting, {}, folder)
    const used = await usedToday(third.url, key)
    assert.ok(used.allowed >= after.allowed && used.allowed <= allowed, JSON.stringify({ used, before, after }))
  })

test('PostgreSQL: the next window begins in all processes, also with clocks a second apart', async (t) => {
  const { setting } = await freshDatabase(t, 'postgres')
  const services = [await start(t, setting), await start(t, setting, { NODE_OPTIONS: SECOND_AHEAD })]
  const urls = services.map(({ url }) => url)
  const key = await createKey(urls[0] ?? '')
  const first = await flood(urls, key, { seconds: 10 })
  requireShare(first.allowed, LIMIT, first)
  // Until the window is over by the slower clock, and the next one is used up.
  const rest = await flood(urls, key, { seconds: 62 })
  requireShare(rest.allowed, LIMIT, rest)
  assert.equal(first.other + rest.other, 0)
})
