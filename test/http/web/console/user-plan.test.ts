import assert from 'node:assert/strict'
import { admin, member } from '../../../support/app/actors.ts'
import { storedEvents } from '../../../support/app/audit.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'

const PLANS = { PLANS: 'free=60/m,1000/d pro=600/m,100000/d' }

async function start(t: Parameters<typeof startApp>[0], env: Record<string, string> = PLANS) {
  const service = await startApp(t, { env })
  const [mia, boss] = [await member(service), await admin(service)]
  const cookie = await signIn(service.app, boss)
  const press = (fields: Record<string, string>, by = cookie, id: number | string = mia.id) =>
    service.app.inject(submit(`/console/users/${id}/plan`, fields, by))
  const look = () => service.app.inject(visit(`/console/users/${mia.id}`, cookie))
  const changes = async () => (await storedEvents(service.db)).filter(({ kind }) => kind === 'user.plan_changed')
  return { ...service, service, mia, boss, press, look, changes }
}

/** The plans of the list, and the chosen one. */
function offered(body: string): [names: string[], chosen: string | undefined] {
  const [list = assert.fail('no list')] = /<select id="plan".*?<\/select>/s.exec(body) ?? []
  const options = [...list.matchAll(/<option value="([^"]+)"( selected)?>/g)]
  return [options.map(([, name = '']) => name), options.find(([, , selected]) => selected)?.[1]]
}

test('303: an admin chooses the plan of an account, which the page shows with its limits', async (t) => {
  const { press, look, changes, boss, mia, services } = await start(t)
  const before = await look()
  assert.deepEqual(offered(before.body), [['free', 'pro'], 'free'])
  assert.match(textOf(before), /All API keys of this account together may make 60 requests a minute and 1,000 a day\./)
  const pressed = await press({ plan: 'pro' })
  assert.deepEqual([pressed.statusCode, pressed.headers.location], [303, `/console/users/${mia.id}`])
  assert.match(String(pressed.headers['set-cookie']), /^latchkey-notice=plan-changed;/)
  const after = await look()
  assert.deepEqual(offered(after.body), [['free', 'pro'], 'pro'])
  assert.match(textOf(after), /600 requests a minute and 100,000 a day\..*user\.plan_changed/)
  assert.equal((await services.plans?.find(mia.id))?.name, 'pro')
  assert.deepEqual(
    (await changes()).map(({ actor, target, via, detail }) => [actor, target, via, JSON.parse(String(detail))]),
    [[boss.id, mia.id, 'console', { changed: ['plan'] }]],
  )
})

test('422: a plan that does not exist is refused, and the form is shown again', async (t) => {
  const { press, changes, services, mia } = await start(t)
  await press({ plan: 'pro' })
  for (const [fields, message] of [
    [{ plan: 'gold' }, /This plan does not exist/],
    [{ plan: '' }, /This plan does not exist/],
    [{ plan: 'x'.repeat(41) }, /at most 40 characters/],
    [{}, /is required/],
  ] as const) {
    const refused = await press(fields as Record<string, string>)
    assert.equal(refused.statusCode, 422)
    assert.match(textOf(refused), message)
    assert.deepEqual(offered(refused.body), [['free', 'pro'], 'pro'])
  }
  assert.equal((await press({ plan: 'gold' }, undefined, 'x')).statusCode, 404)
  assert.equal((await press({ plan: 'pro' }, undefined, 4711)).statusCode, 404)
  assert.equal((await services.plans?.find(mia.id))?.name, 'pro')
  assert.equal((await changes()).length, 1)
})

test('403, 404: a user chooses no plan, and without PLANS there is no form', async (t) => {
  const { service, press, mia, services } = await start(t)
  assert.equal((await press({ plan: 'pro' }, await signIn(service.app, mia))).statusCode, 403)
  assert.equal((await services.plans?.find(mia.id))?.name, 'free')
  const without = await start(t, {})
  assert.doesNotMatch((await without.look()).body, /id="plan"/)
  assert.equal((await without.press({ plan: 'pro' })).statusCode, 404)
})
