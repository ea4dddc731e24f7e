import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { turnOnCodes } from '../../../support/app/codes.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { pageOf } from '../../../support/http/page-routes.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { EVERY_ROUTE, routesDuring } from '../../../support/http/routes.ts'

const KEYS = statement('select * from api_keys where user_id = $1 order by id')
const FORGET = statement('update sessions set second_factor = false where user_id = $1')

test('303, 403: with everybody, no page works without a second factor but those for signing out, confirming and setting up', async (t) => {
  const env = { ...EVERY_ROUTE, SECOND_FACTOR: 'everybody' }
  const { configs, started } = await routesDuring(() => startApp(t, { env }))
  const boss = await admin(started)
  const cookie = await signIn(started.app, boss)
  const pages = [...configs].filter(([name, { page, access }]) => page && access !== 'public' && !name.startsWith('HEAD'))
  assert.ok(pages.length > 40)
  for (const [name] of pages) {
    const [method = '', path = ''] = name.split(' ')
    const url = path.replace(/:\w+/g, '999999')
    if (pageOf(name).factor !== undefined) continue
    const response = await started.app.inject(method === 'GET' ? visit(url, cookie) : submit(url, {}, cookie))
    const area = path.split('/')[1]
    if (method === 'GET') {
      assert.equal(response.statusCode, 303, name)
      assert.ok(String(response.headers.location).startsWith(`/${area}/second-factor?next=`), name)
    } else {
      assert.equal(response.statusCode, 403, name)
      assert.match(textOf(response), /This needs a second factor\./, name)
    }
  }
  const led = await started.app.inject(visit('/console/second-factor?next=%2Fconsole%2Fusers', cookie))
  assert.deepEqual([led.statusCode, led.headers.location], [303, '/account/security'])
  assert.match(String(led.headers['set-cookie']), /^latchkey-notice=factor-required;/)
  assert.equal((await started.app.inject(visit('/account/security', cookie))).statusCode, 200)
  assert.equal((await started.app.inject(submit('/account/security/codes', {}, cookie))).statusCode, 200)
  assert.equal((await started.app.inject(submit('/console/sign-out', {}, cookie))).headers.location, '/console/sign-in')
})

test('303: with admins, the console asks an admin who has codes for one, and the account pages do not', async (t) => {
  const service = await startApp(t, { env: { SECOND_FACTOR: 'admins' } })
  const { app, db } = service
  const boss = await admin(service)
  const cookie = await signIn(app, boss)
  assert.equal((await app.inject(visit('/account/keys', cookie))).statusCode, 200)
  const { code } = await turnOnCodes(service, boss)
  await db.run(FORGET, boss.id)
  const led = await app.inject(visit('/console/users?q=mia', cookie))
  assert.equal(led.headers.location, '/console/second-factor?next=%2Fconsole%2Fusers%3Fq%3Dmia')
  const asked = await app.inject(visit(String(led.headers.location), cookie))
  assert.equal(asked.statusCode, 200)
  assert.match(
    textOf(asked),
    /This service requires a second factor, and you signed in with your password only\. Enter a code to continue\. Code/,
  )
  const wrong = await app.inject(submit('/console/second-factor', { next: '/console/users?q=mia', code: '000000' }, cookie))
  assert.equal(wrong.statusCode, 400)
  assert.match(textOf(wrong), /This code is wrong/)
  const right = await app.inject(submit('/console/second-factor', { next: '/console/users?q=mia', code: code() }, cookie))
  assert.deepEqual([right.statusCode, right.headers.location], [303, '/console/users?q=mia'])
  assert.equal((await app.inject(visit('/console/users?q=mia', cookie))).statusCode, 200)
  assert.equal((await app.inject(visit('/console/second-factor?next=%2Fconsole%2Fkeys', cookie))).headers.location, '/console/keys')
})

/** The account pages that change who can use the role: forms, and their pages. */
const GUARDED = ['/account/keys/new', '/account/password']

test('303, 403: with admins, the account pages for keys lead an admin who has a factor to it, and nobody else', async (t) => {
  const service = await startApp(t, { env: { SECOND_FACTOR: 'admins' } })
  const { app, db } = service
  const [boss, bare, mia] = [await admin(service), await admin(service), await member(service)]
  for (const owner of [boss, bare, mia]) {
    const cookie = await signIn(app, owner)
    const { keyId } = await keyHolder(service, owner)
    const forms = ['/account/keys', `/account/keys/${keyId}/rotate`, `/account/keys/${keyId}/enable`]
    const send = (url: string) => app.inject(submit(url, url === '/account/keys' ? { name: 'one' } : {}, cookie))
    let code = () => ''
    if (owner !== bare) {
      code = (await turnOnCodes(service, owner)).code
      await db.run(FORGET, owner.id)
    }
    if (owner === boss) {
      for (const url of GUARDED) {
        const led = await app.inject(visit(url, cookie))
        assert.deepEqual([led.statusCode, led.headers.location], [303, `/account/second-factor?next=${encodeURIComponent(url)}`])
      }
      const before = await db.all(KEYS, owner.id)
      for (const url of forms) {
        const refused = await send(url)
        assert.equal(refused.statusCode, 403, url)
        assert.match(textOf(refused), /This needs a second factor\./)
        assert.match(refused.body, /href="\/account\/second-factor\?next=/)
      }
      assert.deepEqual(await db.all(KEYS, owner.id), before)
      const given = await app.inject(submit('/account/second-factor', { next: '/account/keys/new', code: code() }, cookie))
      assert.deepEqual([given.statusCode, given.headers.location], [303, '/account/keys/new'])
    }
    for (const url of [...GUARDED, '/account/', '/account/keys', `/account/keys/${keyId}`, '/account/security'])
      assert.equal((await app.inject(visit(url, cookie))).statusCode, 200, `${owner.email} ${url}`)
    for (const url of forms) assert.equal((await send(url)).statusCode, 303, `${owner.email} ${url}`)
  }
})

test('403: without account pages, the console says what is missing and leads nowhere', async (t) => {
  const service = await startApp(t, { env: { SECOND_FACTOR: 'admins', ACCOUNT_PAGES_ENABLED: 'false' } })
  const { app } = service
  const boss = await admin(service)
  const { headers } = await app.inject(submit('/console/sign-in', { email: boss.email, password: boss.password }))
  const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
  const asked = await app.inject(visit('/console/second-factor', cookie))
  assert.equal(asked.statusCode, 403)
  assert.match(textOf(asked), /This needs a second factor\./)
})

test('303: the console shows what a user has and resets it; the sessions of that user end', async (t) => {
  const service = await startApp(t)
  const { app, services } = service
  const [boss, mia] = [await admin(service), await member(service)]
  const [cookie, hers] = [await signIn(app, boss), await signIn(app, mia)]
  const page = async () => textOf(await app.inject(visit(`/console/users/${mia.id}`, cookie)))
  assert.match(await page(), /Second factor none/)
  assert.doesNotMatch(await page(), /Reset second factor/)
  await turnOnCodes(service, mia)
  assert.match(await page(), /Second factor Codes Created/)
  assert.match(
    await page(),
    new RegExp(`Reset second factor… .* passkeys of ${mia.email} and end their sessions\\? This cannot be undone\\.`),
  )
  const reset = await app.inject(submit(`/console/users/${mia.id}/reset-second-factor`, {}, cookie))
  assert.deepEqual([reset.statusCode, reset.headers.location], [303, `/console/users/${mia.id}`])
  assert.deepEqual(await services.secondFactor.status(mia.id), { hasPassword: true, totp: false, passkeys: 0, recoveryCodes: 0 })
  assert.equal((await app.inject(visit('/account/', hers))).statusCode, 303)
})
