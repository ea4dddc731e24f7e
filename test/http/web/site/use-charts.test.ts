import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'
import { dayOf, startOfDay } from '../../../../src/model/usage.ts'
import { type Actor, admin, keyHolder, member } from '../../../support/app/actors.ts'
import { createClock } from '../../../support/app/clock.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { signIn, textOf, visit } from '../../../support/http/pages.ts'

/** In the morning, so that no test runs into the next day. */
const morning = () => createClock(startOfDay(dayOf(Date.now())) + 6 * 3_600_000)

function check({ app }: Pick<TestApp, 'app'>, { headers }: Pick<Actor, 'headers'>, cost: number) {
  return app.inject({ url: '/auth/check', headers, query: { cost: String(cost) } })
}

type Day = { readonly allowed: number; readonly limited: number }
const numbers = (...texts: (string | undefined)[]) => texts.map((text) => Number(text?.replaceAll(',', '')))

/** What the table of a chart says about each day, the oldest first. */
function tableOf({ body }: LightMyRequestResponse): Day[] {
  const table = /<th scope="col">Limited<\/th>.*?<\/table>/s.exec(body)?.[0] ?? assert.fail('no table')
  const rows = [...table.matchAll(/<tr><td>[^<]+<\/td>\s*<td>([\d,]+)<\/td>\s*<td>([\d,]+)<\/td><\/tr>/g)]
  return rows
    .map(([, ...cells]) => numbers(...cells))
    .map(([allowed = Number.NaN, limited = Number.NaN]) => ({ allowed, limited }))
    .toReversed()
}

/** What the bars of a chart say about each day, and the heights of both parts. */
function barsOf({ body }: LightMyRequestResponse): (Day & { readonly heights: number[] })[] {
  const bars = [...body.matchAll(/<g><title>[^:<]+: ([\d,]+) allowed, ([\d,]+) limited<\/title>(.*?)<\/g>/gs)]
  return bars.map(([, allowed, limited, shapes = '']) => {
    const [first = Number.NaN, second = Number.NaN] = numbers(allowed, limited)
    return { allowed: first, limited: second, heights: [...shapes.matchAll(/ height="([\d.]+)"/g)].map(([, height]) => Number(height)) }
  })
}

test('200: the chart of a key and of an account has a table with the same numbers, which are those of the API', async (t) => {
  const service = await startApp(t, { env: { PLANS: 'free=2000/d' }, clock: morning() })
  const mia = await member(service)
  const [one, two] = [await keyHolder(service, mia), await keyHolder(service, mia)]
  for (const cost of [1000, 500]) await check(service, one, cost)
  service.clock.advance({ days: 2 })
  for (const [key, cost] of [
    [one, 1000],
    [two, 1000],
    [one, 600],
  ] as const)
    await check(service, key, cost)
  await service.keyUse.flush()
  const boss = await admin(service)
  const pages = [
    [`/account/keys/${one.keyId}`, await signIn(service.app, mia), `/users/keys/${one.keyId}/usage`, one],
    [`/console/users/${mia.id}`, await signIn(service.app, boss), `/users/${mia.id}/usage`, boss],
  ] as const
  for (const [path, cookie, url, { headers }] of pages) {
    const page = await service.app.inject(visit(path, cookie))
    const used = (await service.app.inject({ url, headers })).json<(Day & { day: string })[]>()
    const expected = used.map(({ allowed, limited }) => ({ allowed, limited }))
    assert.equal(expected.length, 30)
    assert.deepEqual(tableOf(page), expected, path)
    const bars = barsOf(page)
    assert.deepEqual(
      bars.map(({ allowed, limited }) => ({ allowed, limited })),
      expected,
    )
    // The highest day fills the chart, and a day without use has no bar.
    const highest = Math.max(...expected.map(({ allowed, limited }) => allowed + limited))
    for (const { allowed, limited, heights } of bars) {
      const parts = [allowed, limited].filter((value) => value > 0).map((value) => Number(((value / highest) * 120).toFixed(1)))
      assert.deepEqual(heights, parts, path)
    }
    // The scale has the highest number, its half and zero.
    const [, scale = ''] = /id="use-chart"><div class="scale" aria-hidden="true">(.*?)<\/div>/s.exec(page.body) ?? []
    const marks = [...scale.matchAll(/<span>([\d,]+)<\/span>/g)].flatMap(([, mark]) => numbers(mark))
    assert.deepEqual(marks, [highest, highest / 2, 0], path)
    assert.match(
      textOf(page),
      new RegExp(`${path.startsWith('/account') ? '2,500 allowed, 600' : '3,500 allowed, 600'} limited in 30 days`),
    )
  }
})

test('200: a key that no service has checked has no chart', async (t) => {
  const service = await startApp(t)
  const [mia, boss] = [await member(service), await admin(service)]
  const key = await keyHolder(service, mia)
  const ofKey = await service.app.inject(visit(`/account/keys/${key.keyId}`, await signIn(service.app, mia)))
  assert.match(textOf(ofKey), /0 allowed, 0 limited in 30 days No service has checked this key in the last 30 days\./)
  const ofUser = await service.app.inject(visit(`/console/users/${mia.id}`, await signIn(service.app, boss)))
  assert.match(textOf(ofUser), /No service has checked the API keys of this user in the last 30 days\./)
  for (const { body } of [ofKey, ofUser]) assert.doesNotMatch(body, /use-chart/)
})

test('200: the overview lists the keys that were used most, with links to their owners', async (t) => {
  const service = await startApp(t, { clock: morning() })
  const [mia, boss] = [await member(service, { email: 'mia@example.com' }), await admin(service)]
  const keys = [await keyHolder(service, mia, { name: 'seldom' }), await keyHolder(service, mia, { name: 'often' })] as const
  await check(service, keys[0], 3)
  await check(service, keys[1], 1000)
  await service.keyUse.flush()
  const page = await service.app.inject(visit('/console/', await signIn(service.app, boss)))
  assert.match(textOf(page), /often mia@example\.com 1,000 .*seldom mia@example\.com 3 /)
  assert.ok(page.body.includes(`href="/console/users/${mia.id}"`))
})
