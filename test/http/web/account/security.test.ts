import assert from 'node:assert/strict'
import { codeAt } from '../../../../src/security/totp.ts'
import { member } from '../../../support/app/actors.ts'
import { createAuthenticator } from '../../../support/app/authenticator.ts'
import { turnOnCodes } from '../../../support/app/codes.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { credentials, sessionCookie, signIn, submit, textOf, visit } from '../../../support/http/pages.ts'

const PATH = '/account/security'

/** The cookie with the codes that the next page shows. */
function secretCookie(headers: { readonly 'set-cookie'?: string | string[] | undefined }): string {
  const cookies = [headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';')[0] ?? '')
  return cookies.find((cookie) => cookie.startsWith('latchkey-secret=')) ?? assert.fail('no cookie')
}

test('200, 303: codes are on after a right code only, and the recovery codes are shown once', async (t) => {
  const service = await startApp(t)
  const { app, clock, services } = service
  const mia = await member(service)
  const cookie = await signIn(app, mia)
  const status = () => services.secondFactor.status(mia.id)
  assert.match(textOf(await app.inject(visit(PATH, cookie))), /Codes from an app .* Off Set up codes/)

  const begun = await app.inject(submit(`${PATH}/codes`, {}, cookie))
  assert.equal(begun.statusCode, 200)
  const [, secret = ''] = /name="secret" value="([A-Z2-7]{32})"/.exec(begun.body) ?? []
  assert.ok(textOf(begun).includes(`Key: ${secret.match(/.{4}/g)?.join(' ')}`), 'in groups of four')
  assert.match(
    begun.body,
    /<svg class="qr" width="\d+" height="\d+" viewBox="0 0 \d+ \d+" role="img" aria-label="QR code for the app"><path d="M/,
  )
  assert.equal((await status()).totp, false)

  const wrong = await app.inject(submit(`${PATH}/codes/on`, { secret, code: '000000' }, cookie))
  assert.equal(wrong.statusCode, 400)
  assert.match(textOf(wrong), /This code is wrong, has expired or was used already\./)
  assert.ok(wrong.body.includes(`value="${secret}"`), 'the same secret is shown again')
  assert.equal((await status()).totp, false)

  const code = codeAt(secret, Math.floor(clock.now() / 30_000))
  const on = await app.inject(submit(`${PATH}/codes/on`, { secret, code: `${code.slice(0, 3)} ${code.slice(3)}` }, cookie))
  assert.deepEqual([on.statusCode, on.headers.location], [303, `${PATH}/recovery-codes`])
  assert.deepEqual(await status(), { hasPassword: true, totp: true, passkeys: 0, recoveryCodes: 10 })
  const shown = await app.inject(visit(`${PATH}/recovery-codes`, `${cookie}; ${secretCookie(on.headers)}`))
  assert.equal(shown.body.match(/\b[a-z0-9]{5}-[a-z0-9]{5}\b/g)?.length, 10)
  assert.match(textOf(shown), /only an admin of this service can let you in again.* I have saved these codes Continue/)
  const [, file = ''] =
    /<a class="button" href="data:text\/plain[^",]+,([^"]+)" download="recovery-codes.txt">Save as a file/.exec(shown.body) ?? []
  assert.match(decodeURIComponent(file), new RegExp(`^Recovery codes of ${mia.email} for `))
  assert.match(textOf(shown), new RegExp(`Each code signs ${mia.email} in to .* once, in place of a code from the app\\.`))
  const later = await app.inject(visit(`${PATH}/recovery-codes`, cookie))
  assert.deepEqual([later.statusCode, later.headers.location], [303, PATH], 'they are shown once')
  assert.match(textOf(await app.inject(visit(PATH, cookie))), / On 10 recovery codes left\. .* Get new recovery codes… .* Turn off…/)
})

test('303: new recovery codes replace the old ones, and turning codes off removes them', async (t) => {
  const service = await startApp(t)
  const { app, services } = service
  const mia = await member(service)
  const cookie = await signIn(app, mia)
  const { recoveryCodes } = await turnOnCodes(service, mia)
  const renewed = await app.inject(submit(`${PATH}/recovery-codes`, {}, cookie))
  const shown = await app.inject(visit(`${PATH}/recovery-codes`, `${cookie}; ${secretCookie(renewed.headers)}`))
  assert.ok(!recoveryCodes.some((code) => shown.body.includes(code)))
  const off = await app.inject(submit(`${PATH}/codes/off`, {}, cookie))
  assert.deepEqual([off.statusCode, off.headers.location], [303, PATH])
  assert.deepEqual(await services.secondFactor.status(mia.id), { hasPassword: true, totp: false, passkeys: 0, recoveryCodes: 0 })
  assert.equal((await app.inject(submit(`${PATH}/codes/off`, {}, cookie))).statusCode, 400)
})

test('403, 303: after ten minutes an account with codes is asked, and a code answers as well as the password', async (t) => {
  const service = await startApp(t)
  const { app, clock, services } = service
  const mia = await member(service)
  const cookie = await signIn(app, mia)
  const { code } = await turnOnCodes(service, mia)
  clock.advance({ minutes: 11 })
  const asked = await app.inject(submit(`${PATH}/codes/off`, {}, cookie))
  assert.equal(asked.statusCode, 403)
  assert.match(
    textOf(asked),
    /Confirm that it is you .* Enter a code or your password to turn codes from an app off\. Code .* Or your password Confirm Cancel/,
  )
  const wrong = await app.inject(submit(`${PATH}/codes/off`, { confirm_code: '000000', password: '' }, cookie))
  assert.equal(wrong.statusCode, 400)
  assert.match(textOf(wrong), /This code is wrong, has expired or was used already\. Nothing was changed\./)
  assert.equal((await services.secondFactor.status(mia.id)).totp, true)
  assert.equal((await app.inject(submit(`${PATH}/codes/off`, { confirm_code: code(), password: '' }, cookie))).statusCode, 303)
  assert.equal((await services.secondFactor.status(mia.id)).totp, false)
})

/** Adds a passkey by the pages. */
async function addPasskey({ app }: TestApp, cookie: string, name: string) {
  const page = await app.inject(visit(`${PATH}/passkeys/new`, cookie))
  assert.equal(page.statusCode, 200, page.body)
  const [, options = ''] = /data-create="([^"]+)"/.exec(page.body) ?? []
  const authenticator = createAuthenticator({ origin: 'http://localhost:8000' })
  const passkey = JSON.stringify(authenticator.create(JSON.parse(options.replaceAll('&quot;', '"'))))
  const added = await app.inject(submit(`${PATH}/passkeys`, { name, passkey }, cookie))
  assert.deepEqual([added.statusCode, added.headers.location], [303, PATH], textOf(added))
  return { authenticator, passkey }
}

test('303, 400: a passkey is added, renamed and removed, and signs in; a refused one shows the form again', async (t) => {
  const service = await startApp(t)
  const { app, services } = service
  const mia = await member(service)
  const cookie = await signIn(app, mia)
  const { authenticator, passkey } = await addPasskey(service, cookie, 'My phone')
  const replayed = await app.inject(submit(`${PATH}/passkeys`, { name: 'Again', passkey }, cookie))
  assert.equal(replayed.statusCode, 400)
  assert.match(textOf(replayed), /Add a passkey .* This passkey was not accepted\./)

  const options = (await app.inject({ method: 'POST', url: '/login/passkey/options' })).json()
  const answer = JSON.stringify(authenticator.get(options))
  const entered = await app.inject(submit('/account/sign-in/passkey', { next: '/account/keys', passkey: answer }))
  assert.deepEqual([entered.statusCode, entered.headers.location], [303, '/account/keys'])
  const sessions = await app.inject(visit('/account/sessions', sessionCookie(entered)))
  assert.match(textOf(sessions), /(?=.* Passkey just now ).* Password and second factor just now /)
  const again = await app.inject(submit('/account/sign-in/passkey', { next: '/account/keys', passkey: answer }))
  assert.equal(again.statusCode, 401)
  assert.match(textOf(again), /^Latchkey Sign in This passkey was not accepted\. Email/)
  assert.ok(again.body.includes('name="next" value="/account/keys"'))

  const [{ id } = assert.fail()] = (await services.passkeys?.list(mia.id)) ?? []
  assert.equal((await app.inject(submit(`${PATH}/passkeys/${id}`, { name: '' }, cookie))).statusCode, 422)
  assert.equal((await app.inject(submit(`${PATH}/passkeys/${id}`, { name: 'My old phone' }, cookie))).statusCode, 303)
  assert.match(textOf(await app.inject(visit(PATH, cookie))), /My old phone On one device/)
  const page = await app.inject(visit(`${PATH}/passkeys/${id}`, cookie))
  assert.match(textOf(page), /Remove My old phone for good\?/)
  assert.equal((await app.inject(submit(`${PATH}/passkeys/${id}/remove`, {}, cookie))).headers.location, PATH)
  assert.deepEqual(await services.passkeys?.list(mia.id), [])
  assert.equal((await app.inject(visit(`${PATH}/passkeys/${id}`, cookie))).statusCode, 404)
})

test('404: passkeys of another user are unknown', async (t) => {
  const service = await startApp(t)
  const { app, services } = service
  const [mia, bob] = [await member(service), await member(service)]
  await addPasskey(service, await signIn(app, mia), 'My phone')
  const [{ id } = assert.fail()] = (await services.passkeys?.list(mia.id)) ?? []
  const cookie = await signIn(app, bob)
  assert.equal((await app.inject(visit(`${PATH}/passkeys/${id}`, cookie))).statusCode, 404)
  for (const action of ['', '/remove'])
    assert.equal((await app.inject(submit(`${PATH}/passkeys/${id}${action}`, { name: 'Mine' }, cookie))).statusCode, 404)
  assert.equal((await services.passkeys?.list(mia.id))?.[0]?.name, 'My phone')
})

test('200, 404: where browsers accept no passkeys, no page offers them', async (t) => {
  const service = await startApp(t, { env: { BASE_URL: 'http://192.0.2.1:8000' } })
  const { app } = service
  const mia = await member(service)
  const cookie = sessionCookie(await app.inject(submit('/account/sign-in', credentials(mia))))
  for (const page of [await app.inject(visit('/account/sign-in')), await app.inject(visit(PATH, cookie))]) {
    assert.equal(page.statusCode, 200)
    assert.doesNotMatch(page.body, /passkey|webauthn/i)
  }
  assert.equal((await app.inject(visit(`${PATH}/passkeys/new`, cookie))).statusCode, 404)
})
