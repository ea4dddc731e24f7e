import assert from 'node:assert/strict'
import { type Actor, admin, keyHolder, member } from '../support/app/actors.ts'
import { addPasskey, caller, turnOn } from '../support/app/second-factor.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { type ApiRoute, nameOf, routesWith, rowOf, urlOf } from '../support/http/api-routes.ts'
import { operationsOf } from '../support/http/openapi.ts'
import { EVERY_ROUTE } from '../support/http/routes.ts'

/** What works without a second factor where everybody needs one. */
const isOpen = ({ factor }: ApiRoute) => factor === 'never' || factor === 'setup'
/** What only the role of an admin opens. */
const FOR_ADMINS = routesWith(({ access }) => access === 'admin' || access === 'self')

type Client = Pick<Actor, 'headers'>
const NEEDS = 'Second factor required'

/** The routes that refuse a caller for want of a second factor. Every request is about an account that does not exist. */
async function refusing(service: TestApp, newCaller: () => Promise<Client>): Promise<string[]> {
  const operations = operationsOf((await service.app.inject('/openapi.json')).json())
  const refused: string[] = []
  for (const { method, path, operation } of operations.filter(({ operation: { security } }) => security.length > 0)) {
    const { headers } = await newCaller()
    const response = await service.app.inject({ method, url: urlOf(path), headers })
    if (response.statusCode === 403 && response.json().detail === NEEDS) {
      assert.equal(response.headers['x-error-code'], 'second_factor_required')
      refused.push(nameOf(`${method} ${path}`))
    }
    assert.ok(response.statusCode in operation.responses, `${method} ${path}: ${response.statusCode}`)
  }
  return refused.sort()
}

test('403: SECOND_FACTOR=everybody, on every route but those that lead to a second factor', async (t) => {
  const service = await startApp(t, { env: { ...EVERY_ROUTE, SECOND_FACTOR: 'everybody' } })
  const expected = routesWith((row) => row.access !== 'public' && !isOpen(row))
  assert.deepEqual(await refusing(service, () => admin(service)), expected)
  // A key is refused by its access first, where no key may call.
  const forKeys = expected.filter((route) => rowOf(route).keys !== 'none')
  assert.deepEqual(await refusing(service, async () => keyHolder(service, await admin(service))), forKeys)
})

test('403: SECOND_FACTOR=admins, wherever the role is needed', async (t) => {
  const service = await startApp(t, { env: { ...EVERY_ROUTE, SECOND_FACTOR: 'admins' } })
  assert.deepEqual(await refusing(service, () => admin(service)), FOR_ADMINS)
  assert.deepEqual(await refusing(service, async () => keyHolder(service, await admin(service))), FOR_ADMINS)
  const boss = await admin(service)
  const call = caller(service, boss)
  assert.equal((await call('PUT', `/users/${boss.id}`, { first_name: 'Maria' })).statusCode, 200, 'their own account')
  assert.equal((await call('GET', '/auth/check')).statusCode, 200)
  assert.equal((await call('GET', '/auth/check?role=admin')).json().detail, NEEDS)
  assert.equal((await call('GET', '/users/me/second-factor')).json().required, true)
  const mia = await member(service)
  assert.equal((await caller(service, mia)('GET', '/users/me/second-factor')).json().required, false)
  assert.equal((await caller(service, mia)('GET', '/users/')).json().detail, 'Not enough permissions')
})

test('200: a session with a second factor, and a key whose owner has codes or a passkey', async (t) => {
  for (const rule of ['admins', 'everybody']) {
    const service = await startApp(t, { env: { SECOND_FACTOR: rule } })
    for (const setUp of [turnOn, addPasskey]) {
      const boss = await admin(service)
      const key = await keyHolder(service, boss)
      const [bySession, byKey] = [caller(service, boss), caller(service, key)]
      for (const call of [bySession, byKey]) assert.equal((await call('GET', '/users/search?search_term=mia')).json().detail, NEEDS)
      await setUp(service, boss)
      for (const call of [bySession, byKey]) {
        assert.equal((await call('GET', '/users/search?search_term=mia')).statusCode, 200)
        assert.equal((await call('GET', '/auth/check?role=admin&second_factor=true')).statusCode, 200)
      }
      await caller(service, await adminWithFactor(service))('DELETE', `/users/${boss.id}/second-factor`)
      assert.equal((await byKey('GET', '/users/search?search_term=mia')).json().detail, NEEDS)
    }
  }
})

async function adminWithFactor(service: TestApp): Promise<Actor> {
  const boss = await admin(service)
  await turnOn(service, boss)
  return boss
}
