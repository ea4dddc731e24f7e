import assert from 'node:assert/strict'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createSecretUse, HOLDER_EXPIRY_MS } from '../../../src/domain/operations/secret-use.ts'
import type { Event } from '../../../src/model/event.ts'
import { fingerprints, type Secrets } from '../../../src/security/derived-keys.ts'
import { statement } from '../../../src/storage/database.ts'
import { until } from '../../support/app/eventually.ts'
import { startApp } from '../../support/app/start-app.ts'
import { type ContractContext, test } from '../../support/databases/databases.ts'

const USES = statement<{ fingerprint: string; first: number; last: number }>(
  'select fingerprint, first_used_at as first, last_used_at as last from secret_uses order by first_used_at, fingerprint',
)
const HOLDERS = statement<{ process_id: string; fingerprint: string; signs: boolean | 0 | 1 }>(
  'select process_id, fingerprint, signs from secret_holders order by seen_at, signs desc',
)
const OLD = Buffer.from('old secret')
const NEW = Buffer.from('new secret')
const [OLD_NAME, NEW_NAME] = fingerprints([OLD, NEW]) as unknown as [string, string]

async function prepare(t: ContractContext) {
  const { db, clock } = await startApp(t)
  const events: Event[] = []
  const changes = createChanges({ db, now: clock.now, followUps: () => [], onEvent: (event) => void events.push(event) })
  const processWith = (secrets: Secrets) =>
    createSecretUse({ changes, now: clock.now, secrets, onFailure: (error) => assert.fail(String(error)) })
  return { db, clock, events, changes, processWith }
}

test('the use of the current secret is recorded, that of a fallback is not', async (t) => {
  const { db, clock, processWith } = await prepare(t)
  const startedAt = clock.now()
  const service = processWith([NEW, OLD])
  await service.run()
  clock.advance({ minutes: 1 })
  await service.run()
  assert.deepEqual(await db.all(USES), [{ fingerprint: NEW_NAME, first: startedAt, last: startedAt + 60_000 }])
})

test('a running process is recorded with all of its secrets, and no more after it has stopped', async (t) => {
  const { db, clock, processWith } = await prepare(t)
  const [first, second] = [processWith([OLD, NEW]), processWith([NEW, OLD])]
  const untilHeld = (count: number) => until('the secrets are recorded', async () => (await db.all(HOLDERS)).length === count, 30_000)
  first.start()
  await untilHeld(2)
  clock.advance({ ms: 1 })
  second.start()
  await untilHeld(4)
  const held = (await db.all(HOLDERS)).map(({ fingerprint, signs }) => [fingerprint, Boolean(signs)])
  assert.deepEqual(held, [
    [OLD_NAME, true],
    [NEW_NAME, false],
    [NEW_NAME, true],
    [OLD_NAME, false],
  ])
  await first.stop()
  assert.equal((await db.all(HOLDERS)).length, 2)
  await second.stop()
  assert.deepEqual(await db.all(HOLDERS), [])
})

test('a process that could not be recorded at its start is recorded soon after, and an outage is reported once', async (t) => {
  const { db, clock, changes } = await prepare(t)
  const failures: unknown[] = []
  let attempts = 0
  const flaky: typeof changes = {
    ...changes,
    withoutCaller: async (origin, work) => {
      if (++attempts <= 5) throw new Error('away')
      return changes.withoutCaller(origin, work)
    },
  }
  const onFailure = (error: unknown) => void failures.push(error)
  const service = createSecretUse({ changes: flaky, now: clock.now, secrets: [OLD], onFailure, retryMs: 1 })
  service.start()
  await until('the secret is recorded', async () => (await db.all(HOLDERS)).length === 1, 30_000)
  assert.equal(failures.length, 1)
  await service.stop()
  assert.deepEqual(await db.all(HOLDERS), [])
})

test('a process that was killed is forgotten', async (t) => {
  const { db, clock, processWith } = await prepare(t)
  await processWith([OLD]).run()
  clock.advance({ ms: HOLDER_EXPIRY_MS + 1 })
  const living = processWith([OLD])
  await living.run()
  await living.run()
  assert.equal((await db.all(HOLDERS)).length, 1)
})

test('the first signature of a second secret is one event, in however many processes', async (t) => {
  const { events, processWith } = await prepare(t)
  await processWith([OLD]).run()
  assert.deepEqual(events, [])
  await Promise.all([processWith([NEW, OLD]).run(), processWith([NEW, OLD]).run()])
  await processWith([OLD, NEW]).run()
  assert.deepEqual(
    events.map(({ kind, via, actor }) => ({ kind, via, actor })),
    [{ kind: 'secret.rotated', via: 'start', actor: undefined }],
  )
})

test('nothing that is recorded contains a secret', async (t) => {
  const { db, events, processWith } = await prepare(t)
  await processWith([NEW, OLD]).run()
  const recorded = JSON.stringify([await db.all(USES), await db.all(HOLDERS), events])
  for (const secret of [OLD, NEW])
    for (const form of ['utf8', 'hex', 'base64', 'base64url'] as const) assert.ok(!recorded.includes(secret.toString(form)), form)
})
