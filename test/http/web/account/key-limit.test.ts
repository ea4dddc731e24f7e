import assert from 'node:assert/strict'
import { keyHolder, member } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'

async function start(t: Parameters<typeof startApp>[0], env: Record<string, string> = {}) {
  const service = await startApp(t, { env })
  const mia = await member(service)
  const [cookie, key] = [await signIn(service.app, mia), await keyHolder(service, mia, { access: 'identify' })]
  const look = () => service.app.inject(visit(`/account/keys/${key.keyId}`, cookie))
  const send = (path: string, fields: Record<string, string>) => service.app.inject(submit(`/account/keys${path}`, fields, cookie))
  const limitOf = async (id = key.keyId) => (await service.services.apiKeys.find(mia.id, id)).limit
  return { ...service, service, mia, key, look, send, limitOf }
}

test('303: the owner sets and removes the limit of a key, and a new key has one', async (t) => {
  const { send, look, limitOf, key } = await start(t)
  const path = `/${key.keyId}/limit`
  const set = await send(path, { limit: ' 10/m ' })
  assert.deepEqual([set.statusCode, set.headers.location], [303, `/account/keys/${key.keyId}`])
  assert.match(String(set.headers['set-cookie']), /^latchkey-notice=limit-saved;/)
  assert.equal(await limitOf(), '10/m')
  const page = await look()
  assert.match(textOf(page), /Limit 10\/m Last used/)
  assert.match(page.body, /<input id="limit" name="limit"[^>]* value="10\/m"/)
  assert.equal((await send(path, { limit: '' })).statusCode, 303)
  assert.equal(await limitOf(), undefined)
  const created = await send('', { name: 'nightly', limit: '5/s' })
  assert.equal(created.statusCode, 303)
  assert.equal(await limitOf(String(created.headers.location).slice('/account/keys/'.length)), '5/s')
})

test('422: a limit that cannot be read is refused, and both forms keep it', async (t) => {
  const { send, limitOf, key, services, mia } = await start(t)
  await send(`/${key.keyId}/limit`, { limit: '10/m' })
  for (const limit of ['0/m', '10', '10/w', '10/m,5/s', 'x"y', '9999999999/d']) {
    for (const [path, fields] of [
      [`/${key.keyId}/limit`, { limit }],
      ['', { name: 'nightly', limit }],
    ] as const) {
      const refused = await send(path, fields as Record<string, string>)
      assert.equal(refused.statusCode, 422, limit)
      assert.match(textOf(refused), /This should be a number up to 1,000,000,000 per s, m, h or d, such as 10\/m/)
      assert.ok(refused.body.includes(`value="${limit.replaceAll('"', '&quot;')}"`), limit)
    }
  }
  assert.equal(await limitOf(), '10/m')
  const keys = []
  for await (const page of await services.apiKeys.list(OPERATOR, mia.id)) keys.push(...page)
  assert.equal(keys.length, 1)
})

test('200: the page of a key names the limits of the plan, and no plan without PLANS', async (t) => {
  const text = /A limit protects you from a program that runs wild\./
  const { look, services, mia } = await start(t, { PLANS: 'free=1/h,1000/d pro=600/m' })
  assert.match(textOf(await look()), /runs wild\. All your keys together may make 1 request an hour and 1,000 a day\./)
  await services.plans?.set(OPERATOR, mia.id, 'pro')
  assert.match(textOf(await look()), /All your keys together may make 600 requests a minute\./)
  const without = textOf(await (await start(t)).look())
  assert.match(without, text)
  assert.doesNotMatch(without, /plan|All your keys/)
})
