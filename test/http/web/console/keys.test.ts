import assert from 'node:assert/strict'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'

test('200: all keys are listed, and found by their beginning, their name and their owner', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const cookie = await signIn(app, await admin(service))
  const mia = await member(service, { email: 'mia@example.com', firstName: 'Mia', lastName: 'Moss' })
  const zoe = await member(service, { email: 'zoe@example.com', firstName: 'Zoe', lastName: 'Zorn' })
  const { key } = await keyHolder(service, mia, { name: 'Deploy key' })
  await keyHolder(service, zoe, { name: 'Backup' })
  const look = async (query: string) => textOf(await app.inject(visit(`/console/keys${query}`, cookie)))
  assert.match(await look(''), /All keys .* Backup .* zoe@example\.com .* Deploy key .* mia@example\.com/)
  for (const q of [key.slice(0, 8), key.slice(0, 12), 'deploy', 'mia moss', 'mia@example.com']) {
    const found = await look(`?${new URLSearchParams({ q })}`)
    assert.match(found, /Matching keys .* Deploy key lk_/, q)
    assert.doesNotMatch(found, /Backup/, q)
  }
  assert.match(await look('?q=nothing'), /No matching keys/)
})

test('303: a key that is pasted into a search is in no address, and is found by its beginning', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const cookie = await signIn(app, await admin(service))
  const mia = await member(service, { email: 'mia@example.com' })
  const { key } = await keyHolder(service, mia, { name: 'Deploy key' })
  for (const page of ['/console/keys', '/console/users']) {
    const [, action = page] =
      /<form class="filters" role="search" method="post" action="([^"]+)"/.exec((await app.inject(visit(page, cookie))).body) ??
      assert.fail('the form sends its fields in the address')
    const search = async (q: string) => String((await app.inject(submit(action, { q }, cookie))).headers.location)
    // Most of a key is as good as the key.
    for (const pasted of [key, ` ${key} `, key.slice(0, -4), `X-API-Key: ${key}`]) {
      const location = await search(pasted)
      assert.ok(!location.includes(key.slice(9, 20)) && location.startsWith(`${page}?q=`), location)
    }
    const location = await search(key)
    assert.equal(location, `${page}?q=${key.slice(0, 9)}`)
    assert.match(textOf(await app.inject(visit(location, cookie))), /mia@example\.com/)
    assert.equal(await search('mia_moss@example.com'), `${page}?q=mia_moss%40example.com`)
    assert.equal(await search(''), page)
  }
  const filtered = submit('/console/users', { q: 'mia', status: 'banned', sort: 'email' }, cookie)
  assert.equal((await app.inject(filtered)).headers.location, '/console/users?q=mia&status=banned&sort=email')
})

test('200: the list of all keys has pages', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const cookie = await signIn(app, await admin(service))
  const mia = await member(service)
  for (let n = 0; n < 30; n++) await keyHolder(service, mia, { name: `key ${n}` })
  const first = await app.inject(visit('/console/keys', cookie))
  const names = ({ body }: { body: string }) => [...body.matchAll(/#api-keys">(key \d+)</g)].map(([, name]) => name)
  assert.deepEqual(names(first).slice(0, 2), ['key 29', 'key 28'])
  const next = /rel="next" href="([^"]+)"/.exec(first.body)?.[1] ?? ''
  const second = await app.inject(visit(next, cookie))
  assert.deepEqual(
    names(second),
    Array.from({ length: 10 }, (_, n) => `key ${9 - n}`),
  )
})

test('200: a pasted key shows its name, owner and state, and appears in no log', async (t) => {
  const service = await startApp(t)
  const { app, logged, services } = service
  const boss = await admin(service)
  const cookie = await signIn(app, boss)
  const mia = await member(service, { email: 'mia@example.com' })
  const { key } = await keyHolder(service, mia, { name: 'Deploy key' })
  const page = textOf(await app.inject(submit('/console/keys', { key }, cookie)))
  assert.match(page, /Name Deploy key Owner mia@example\.com Status Active/)
  assert.ok(!logged.join('').includes(key))
  assert.equal((await services.leakedKeys.find(key))?.name, 'Deploy key')
})
