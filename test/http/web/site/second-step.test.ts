import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'
import { admin, member } from '../../../support/app/actors.ts'
import { turnOnCodes } from '../../../support/app/codes.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { credentials, sessionCookie, submit, textOf, visit } from '../../../support/http/pages.ts'

const STEP = '/account/sign-in/second-step'

function hiddenFields({ body }: LightMyRequestResponse): Record<string, string> {
  const fields = [...body.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
  return Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]))
}

test('200, 303: after the password both areas ask for a code, which opens a session and leads to the requested page', async (t) => {
  const service = await startApp(t)
  const { app, clock } = service
  const boss = await admin(service)
  const { code, recoveryCodes } = await turnOnCodes(service, boss)
  const typed = { console: code(), account: recoveryCodes[0]?.toUpperCase().replace('-', '') ?? '' }
  for (const area of ['console', 'account'] as const) {
    const first = await app.inject(submit(`/${area}/sign-in`, { ...credentials(boss), next: `/${area}/keys` }))
    assert.equal(first.statusCode, 200)
    assert.equal(first.headers['set-cookie'], undefined)
    assert.match(textOf(first), /Enter your code .* Without your phone, enter a recovery code\./)
    assert.match(first.body, /<input id="code" name="code" type="text" autocomplete="one-time-code"/)
    assert.ok(!first.body.includes('data-passkey'), 'the account has no passkey')
    const second = await app.inject(submit(`/${area}/sign-in/second-step`, { ...hiddenFields(first), code: typed[area] }))
    assert.deepEqual([second.statusCode, second.headers.location], [303, `/${area}/keys`])
    assert.equal((await app.inject(visit(`/${area}/keys`, sessionCookie(second)))).statusCode, 200)
    clock.advance({ seconds: 30 })
  }
  assert.equal((await app.inject(visit(STEP))).headers.location, '/account/sign-in', 'no address leads to the page')
})

test('401, 422: a wrong code and none stay on the page, and five wrong ones lead back to sign-in with a message', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const mia = await member(service)
  const { code } = await turnOnCodes(service, mia)
  const fields = hiddenFields(await app.inject(submit('/account/sign-in', { ...credentials(mia), next: '/account/keys' })))
  const empty = await app.inject(submit(STEP, fields))
  assert.equal(empty.statusCode, 422)
  assert.match(textOf(empty), /Code is required/)
  for (let n = 0; n < 5; n++) {
    const wrong = await app.inject(submit(STEP, { ...fields, code: '000000' }))
    assert.equal(wrong.statusCode, 401)
    assert.match(textOf(wrong), /This code is wrong, has expired or was used already\./)
    assert.deepEqual(hiddenFields(wrong), fields)
    assert.ok(!wrong.body.includes('000000'), 'the code is not repeated')
  }
  const ended = await app.inject(submit(STEP, { ...fields, code: code() }))
  assert.deepEqual([ended.statusCode, ended.headers.location], [303, '/account/sign-in?next=%2Faccount%2Fkeys'])
  assert.match(String(ended.headers['set-cookie']), /^latchkey-notice=sign-in-ended;/)
  const shown = await app.inject(visit('/account/sign-in', 'latchkey-notice=sign-in-ended'))
  assert.match(textOf(shown), /This sign-in took too long, or was tried too often\. Start again\./)
})

test('303: a challenge that has expired leads back to sign-in', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code } = await turnOnCodes(service, mia)
  const fields = hiddenFields(await service.app.inject(submit('/account/sign-in', credentials(mia))))
  service.clock.advance({ minutes: 6 })
  const ended = await service.app.inject(submit(STEP, { ...fields, code: code() }))
  assert.deepEqual([ended.statusCode, ended.headers.location], [303, '/account/sign-in'])
})

test('429: ten wrong codes of one account are explained, also for the right code', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const mia = await member(service)
  const { code } = await turnOnCodes(service, mia)
  let fields = {}
  for (let n = 0; n < 10; n++) {
    if (n % 5 === 0) fields = hiddenFields(await app.inject(submit('/account/sign-in', credentials(mia))))
    assert.equal((await app.inject(submit(STEP, { ...fields, code: '000000' }))).statusCode, 401)
  }
  fields = hiddenFields(await app.inject(submit('/account/sign-in', credentials(mia))))
  const limited = await app.inject(submit(STEP, { ...fields, code: code() }))
  assert.equal(limited.statusCode, 429)
  assert.match(textOf(limited), /Enter your code Too many attempts\. Try again in \d+ (?:minute|second)s?\./)
})
