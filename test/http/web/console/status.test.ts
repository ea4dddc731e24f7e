import assert from 'node:assert/strict'
import { admin } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { login, newEmail } from '../../../support/http/requests.ts'

const QUARTER_MS = 15 * 60_000
const CHARTS = ['Requests', 'Latency', 'Logins', 'Errors', 'Hashing queue']

async function start(t: Parameters<typeof startApp>[0], env: Record<string, string> = {}) {
  const service = await startApp(t, { env })
  const { clock } = service
  clock.advance({ ms: QUARTER_MS - (clock.now() % QUARTER_MS) })
  const boss = await admin(service)
  const cookie = await signIn(service.app, boss)
  const look = async () => {
    const response = await service.app.inject(visit('/console/status', cookie))
    assert.equal(response.statusCode, 200, response.body)
    return response
  }
  return { ...service, look, boss }
}

/** The rows of the table of a chart, newest first, without the hours in which nothing happened. */
function numbersOf(body: string, title: string): string[][] {
  const section = body.slice(body.indexOf(`>${title}</h2>`)).split('</section>')[0] ?? ''
  return [...section.matchAll(/<tr>(<td>.*?)<\/tr>/gs)]
    .map(([, row = '']) => [...row.matchAll(/<td[^>]*>([^<]*)<\/td>/g)].map(([, cell = '']) => cell))
    .filter((cells) => cells.slice(1).some((cell) => !/^0(?: ms)?$/.test(cell)))
}

/** The bars of a chart: their places, and their heights in percent. */
function barsOf(body: string, title: string): [number, number][][] {
  const section = body.slice(body.indexOf(`>${title}</h2>`)).split('</section>')[0] ?? ''
  return [...section.matchAll(/<path[^>]* d="([^"]*)"/g)].map(([, path = '']) =>
    [...path.matchAll(/M(\d+) 40v-([\d.]+)/g)].map(([, place, height]): [number, number] => [Number(place), Number(height) / 0.4]),
  )
}

function hourOf(at: number): string {
  const [, day, month] = new Date(at).toUTCString().split(' ')
  return `${Number(day)} ${month}, ${new Date(at).toISOString().slice(11, 16)}`
}

for (const METRICS_ENABLED of ['false', 'true']) {
  test(`200: requests, latency, logins, errors and the hashing queue over 24 hours, with METRICS_ENABLED ${METRICS_ENABLED}`, async (t) => {
    const { app, activity, clock, look } = await start(t, { METRICS_ENABLED })
    await activity.flush()
    clock.advance({ hours: 1 })
    // Counted: two requests that succeed, four that are refused. Not counted: the heartbeat.
    for (const url of ['/ready', '/ready', '/nothing', '/users/me', '/heartbeat']) await app.inject(url)
    for (let n = 0; n < 2; n++) await app.inject(login({ email: newEmail() }))
    await activity.flush()
    const { body } = await look()
    const [second, first] = [hourOf(clock.now() - 45 * 60_000), hourOf(clock.now() - 105 * 60_000)]
    assert.deepEqual(numbersOf(body, 'Requests'), [
      [second, '6'],
      [first, '1'],
    ])
    assert.deepEqual(numbersOf(body, 'Logins'), [
      [second, '0', '2'],
      [first, '1', '0'],
    ])
    assert.deepEqual(numbersOf(body, 'Errors'), [[second, '0', '4']])
    assert.equal(numbersOf(body, 'Latency').length, 2)
    assert.deepEqual(numbersOf(body, 'Hashing queue'), [])
    assert.match(textOf(await look()), /Logins 1 succeeded, 2 failed/)
    assert.deepEqual(barsOf(body, 'Requests'), [
      [
        [91, 16.75],
        [95, 100],
      ],
    ])
    assert.deepEqual(barsOf(body, 'Logins'), [
      [
        [91, 50],
        [95, 100],
      ],
      [[95, 100]],
    ])
  })
}

test('200: responses that failed and the longest queue are shown; the oldest period leaves after 24 hours', async (t) => {
  const { app, activity, clock, look, boss } = await start(t)
  activity.countRequest(503, 2000)
  await activity.flush()
  const { body } = await look()
  assert.deepEqual(numbersOf(body, 'Errors'), [[hourOf(clock.now() - 45 * 60_000), '1', '0']])
  assert.match(textOf(await look()), /Latency mean [\d.,]+ ms, slowest 2,000 ms/)
  clock.advance({ hours: 24 })
  activity.countRequest(200, 1)
  await activity.flush()
  const later = await app.inject(visit('/console/status', await signIn(app, boss)))
  assert.deepEqual(numbersOf(later.body, 'Errors'), [])
  assert.match(textOf(later), /Errors 0 failed/)
})

test('200: without any request the page says when numbers appear', async (t) => {
  const { look } = await start(t)
  assert.match(textOf(await look()), /No requests yet/)
})

test('200: a busy day weighs less than 60 KB with stylesheet and script, has no inline style, and describes each chart', async (t) => {
  const service = await startApp(t)
  const { app, activity, clock } = service
  for (let n = 0; n < 100; n++) {
    for (const status of [200, 403, 500]) activity.countRequest(status, 1234.5 + n)
    for (const isSuccessful of [true, false]) activity.countLogin(isSuccessful)
    clock.advance({ minutes: 15 })
    await activity.flush()
  }
  // The session of the admin has ended by now.
  const cookie = await signIn(app, await admin(service))
  const page = await app.inject(visit('/console/status', cookie))
  assert.doesNotMatch(page.body, / style=|<style/)
  for (const title of CHARTS) {
    const section = page.body.slice(page.body.indexOf(`>${title}</h2>`)).split('</section>')[0] ?? ''
    assert.match(
      section,
      /<svg [^>]*role="img" aria-labelledby="(\w+)-title \1-desc"><title id="\1-title">[^<]+<\/title><desc id="\1-desc">/,
    )
    assert.equal(section.split('<tr>').length - 1, 25, 'a table with a row for each hour')
  }
  assert.match(page.body, /<a href="\/console\/status" aria-current="page">Status<\/a>/)
  let bytes = Buffer.byteLength(page.body)
  for (const [, url = ''] of page.body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)) bytes += (await app.inject(url)).rawPayload.length
  assert.ok(bytes < 60 * 1024, `${bytes} bytes`)
})

test('with CONSOLE_ENABLED false nothing is counted', async (t) => {
  const service = await startApp(t, { env: { CONSOLE_ENABLED: 'false' } })
  await service.app.inject('/ready')
  await service.app.inject(login({ email: newEmail() }))
  await service.app.inject(submit('/account/sign-in', { email: newEmail(), password: 'wrong password' }))
  await service.activity.flush()
  assert.equal(
    (await service.activity.lastDay()).every(({ requests, failedLogins }) => requests === 0 && failedLogins === 0),
    true,
  )
})
