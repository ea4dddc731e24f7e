import assert from 'node:assert/strict'
import { member } from '../../support/app/actors.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { submit, visit } from '../../support/http/pages.ts'
import { newEmail, register } from '../../support/http/requests.ts'

const CLOSE = 'You can close this page.'
const SIGN_IN = 'href="/account/sign-in">Sign in</a>'
const CONTINUE = 'href="https://app.example.com">Continue to Latchkey</a>'

/** The pages that say that something has worked: an address is verified, is verified already, a password is set. */
async function successPages(service: TestApp): Promise<string[]> {
  const { app, mailbox, services } = service
  const email = newEmail()
  await app.inject(register({ email }))
  const verification = visit(`/verify/?code=${await mailbox.codeFor(email)}`)
  const mia = await member(service)
  const code = services.tokens.forMail('reset', mia.id, mia.resetVersion)
  const reset = submit('/reset-password/', { code, new_password: 'a brand new password', confirm_password: 'a brand new password' })
  const bodies: string[] = []
  for (const request of [verification, verification, reset]) bodies.push((await app.inject(request)).body)
  return bodies
}

test('200: every success page leads on: to FRONTEND_URL, otherwise to signing in where the account pages are enabled', async (t) => {
  const cases: [Record<string, string>, string][] = [
    [{}, SIGN_IN],
    [{ ACCOUNT_PAGES_ENABLED: 'false' }, CLOSE],
    [{ FRONTEND_URL: 'https://app.example.com' }, CONTINUE],
    [{ FRONTEND_URL: 'https://app.example.com', ACCOUNT_PAGES_ENABLED: 'false' }, CONTINUE],
  ]
  for (const [env, expected] of cases) {
    for (const body of await successPages(await startApp(t, { env }))) {
      assert.match(body, /<p class="notice good" role="status">/)
      assert.deepEqual(
        [CLOSE, SIGN_IN, CONTINUE].filter((way) => body.includes(way)),
        [expected],
      )
    }
  }
})

test('200, 401: a link that does not work leads to the page that sends a new one', async (t) => {
  const { app } = await startApp(t)
  const ways: Readonly<Record<string, string>> = {
    '/verify/?code=a.b.c': '/account/resend-verification',
    '/reset-password/?code=a.b.c': '/account/forgot-password',
    '/reset-password/': '/account/forgot-password',
  }
  for (const [url, way] of Object.entries(ways)) {
    assert.ok((await app.inject(visit(url))).body.includes(`href="${way}">Request a new email</a>`), url)
    assert.equal((await app.inject(visit(way))).statusCode, 200)
  }
  const disabled = await startApp(t, { env: { ACCOUNT_PAGES_ENABLED: 'false' } })
  for (const url of Object.keys(ways)) assert.doesNotMatch((await disabled.app.inject(visit(url))).body, /\/account\//)
})

test('422: the form for a new password says what is wrong, and connects the message with the field', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const code = service.services.tokens.forMail('reset', mia.id, mia.resetVersion)
  const fields = { code, new_password: 'a brand new password', confirm_password: 'another password' }
  const { statusCode, body } = await service.app.inject(submit('/reset-password/', fields))
  assert.equal(statusCode, 422)
  assert.match(body, /<p class="notice bad" role="alert" id="problem">The two passwords are not the same<\/p>/)
  assert.match(body, /<input id="new_password"[^>]* aria-describedby="problem new_password-hint" required autofocus>/)
  assert.match(body, /<label for="confirm_password">Confirm new password<\/label>/)
})
