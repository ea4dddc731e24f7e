import assert from 'node:assert/strict'
import { createUserCounting } from '../../../src/domain/users/user-directory.service.ts'
import { growth, userCounts } from '../../../src/http/web/console/overview.routes.ts'
import { renderHtml } from '../../../src/shared/html.ts'
import type { Reads } from '../../../src/storage/database.ts'
import { admin, member } from '../../support/app/actors.ts'
import { eventually, until } from '../../support/app/eventually.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'

const EXPECTED = { all: 5, active: 2, unverified: 1, banned: 2, admin: 2 }

/** Five users. Before each part is read, `beforePart` may wait or fail. */
async function start(t: Parameters<typeof startApp>[0], partSize = 2) {
  const service = await startApp(t)
  const { db, clock, services } = service
  await admin(service)
  await services.userAdministration.ban(OPERATOR, (await admin(service)).id)
  await services.userAdministration.ban(OPERATOR, (await member(service)).id)
  await member(service, { verified: false })
  clock.advance({ days: 1 })
  await member(service)
  const parts: { started: number; beforePart: (number: number) => Promise<void> } = { started: 0, beforePart: () => Promise.resolve() }
  const lists: Reads = {
    first: db.first,
    async all(statement, ...values) {
      await parts.beforePart(++parts.started)
      return db.all(statement, ...values)
    },
  }
  return { ...service, parts, counts: createUserCounting({ lists, now: clock.now, partSize }) }
}

test('few users are counted at once, and again after a minute', async (t) => {
  const service = await start(t, 7)
  const { counts, clock, parts } = service
  const { perDay, ...byStatus } = (await counts())?.counts ?? assert.fail('not counted')
  assert.deepEqual(byStatus, EXPECTED)
  assert.deepEqual([perDay.length, perDay.at(-2)?.count, perDay.at(-1)?.count], [30, 4, 1])
  await member(service)
  clock.advance({ seconds: 59 })
  assert.equal((await counts())?.counts.all, 5)
  clock.advance({ seconds: 2 })
  assert.equal((await counts())?.counts.all, 6)
  assert.equal(parts.started, 2)
})

test('many users are counted in the background, and meanwhile the last counts are known', async (t) => {
  const service = await start(t)
  const { counts, clock, parts } = service
  let release = (): void => undefined
  const hold = () => {
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    parts.started = 0
    parts.beforePart = (number) => (number === 1 ? Promise.resolve() : released)
  }
  hold()
  assert.deepEqual([await counts(), await counts()], [undefined, undefined])
  release()
  const first = await eventually('counting', counts)
  const { perDay, ...byStatus } = first.counts
  assert.deepEqual([byStatus, perDay.at(-2)?.count, perDay.at(-1)?.count], [EXPECTED, 4, 1])
  assert.equal(parts.started, 3)

  await member(service)
  clock.advance({ minutes: 5 })
  hold()
  assert.equal(await counts(), first)
  assert.equal(await counts(), first)
  release()
  await until('counting again', async () => (await counts())?.counts.all === 6)
  assert.equal((await counts())?.at, clock.now())

  clock.advance({ minutes: 5 })
  parts.beforePart = () => Promise.reject(new Error('the database is gone'))
  assert.equal((await counts())?.counts.all, 6)
})

test('the overview shows counts that are not known yet, and the age of old ones', async (t) => {
  const { counts, clock } = await start(t, 100)
  const site = { root: '', now: clock.now }
  const unknown = renderHtml(userCounts(site, undefined)) + renderHtml(growth(undefined))
  assert.match(unknown, /Users<\/span><strong>…<\/strong>.*The users are being counted/s)
  const counted = await counts()
  assert.doesNotMatch(renderHtml(userCounts(site, counted)), /Counted/)
  clock.advance({ minutes: 3 })
  assert.match(renderHtml(userCounts(site, counted)), /<strong>5<\/strong>.*Counted <time[^>]*>3 minutes ago<\/time>/s)
})
