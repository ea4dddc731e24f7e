import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { admin } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { describePage, PAGE_ROUTES, PAGE_ROUTES_FILE } from '../../../support/http/page-routes.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { EVERY_ROUTE, routesDuring } from '../../../support/http/routes.ts'

test('403: every page declares what the table says, and one that asks for the password asks before anything else', async (t) => {
  const { configs, started } = await routesDuring(() => startApp(t, { env: EVERY_ROUTE, firstAdminToken: 'a-token-for-tests' }))
  const declared = [...configs].filter(([name, { page }]) => page !== undefined && !name.startsWith('HEAD'))
  assert.deepEqual(
    Object.fromEntries(declared.map(([name, config]) => [name, describePage(config)])),
    PAGE_ROUTES,
    `what the pages declare differs from the rows in ${PAGE_ROUTES_FILE}`,
  )

  const cookie = await signIn(started.app, await admin(started))
  started.clock.advance({ minutes: 11 })
  const asking = Object.entries(PAGE_ROUTES).filter(([, { asks = '' }]) => asks.startsWith('to ') && !asks.endsWith('for some'))
  assert.ok(asking.length > 5)
  for (const [name, { asks }] of asking) {
    const [method, path = ''] = name.split(' ')
    const url = path.replace(':key_id', randomUUID()).replace(/:\w+/g, '999999')
    const request = method === 'GET' ? visit(url, cookie) : submit(url, { email: 'new@example.com', name: 'My phone', secret: 'A' }, cookie)
    const asked = await started.app.inject(request)
    assert.equal(asked.statusCode, 403, name)
    assert.match(textOf(asked), new RegExp(`Confirm your password .* Enter it again ${asks}\\.`), name)
  }
})
