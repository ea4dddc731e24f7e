import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { FastifyContextConfig } from 'fastify'
import { admin } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { EVERY_ROUTE, routesDuring } from '../../../support/http/routes.ts'

const NO = 'no'
const EACH_TIME = 'each time, by a field of its form'

/** Every page, and whether it asks for a password that was given over ten minutes ago. `for some` is a rule that has its own test. */
const PAGES: Readonly<Record<string, string>> = {
  'GET /account/': NO,
  'POST /account/': NO,
  'POST /account/confirm': 'to open this page',
  'POST /account/delete': EACH_TIME,
  'POST /account/email': 'to change your address',
  'GET /account/connect': NO,
  'GET /account/connect/confirm': NO,
  'POST /account/connect/confirm': 'to connect this account',
  'GET /account/email-sign-in': NO,
  'POST /account/email-sign-in': NO,
  'GET /account/forgot-password': NO,
  'POST /account/forgot-password': NO,
  'GET /account/invitation': NO,
  'POST /account/invitation': NO,
  'GET /account/invitation/passkey': NO,
  'POST /account/invitation/passkey': NO,
  'GET /account/hand-off': NO,
  'GET /account/keys': NO,
  'POST /account/keys': 'to create this key, for some',
  'GET /account/keys/new': NO,
  'GET /account/keys/:key_id': NO,
  'POST /account/keys/:key_id/delete': NO,
  'POST /account/keys/:key_id/disable': NO,
  'POST /account/keys/:key_id/enable': 'to enable this key, for some',
  'POST /account/keys/:key_id/limit': 'to change the limit of this key, for some',
  'POST /account/keys/:key_id/rotate': 'to rotate this key, for some',
  'GET /account/password': NO,
  'POST /account/password': EACH_TIME,
  'GET /account/register': NO,
  'POST /account/register': NO,
  'GET /account/resend-verification': NO,
  'POST /account/resend-verification': NO,
  'GET /account/second-factor': NO,
  'POST /account/second-factor': NO,
  'GET /account/security': NO,
  'POST /account/security/codes': 'to set up codes from an app',
  'POST /account/security/codes/off': 'to turn codes from an app off',
  'POST /account/security/codes/on': 'to turn codes from an app on',
  'POST /account/security/passkeys': 'to add a passkey',
  'GET /account/security/passkeys/new': 'to add a passkey',
  'GET /account/security/passkeys/:passkey_id': NO,
  'POST /account/security/passkeys/:passkey_id': NO,
  'POST /account/security/passkeys/:passkey_id/remove': 'to remove this passkey',
  'POST /account/security/providers/:provider/disconnect': 'to disconnect this account',
  'GET /account/security/recovery-codes': NO,
  'POST /account/security/recovery-codes': 'to get new recovery codes',
  'GET /account/sessions': NO,
  'POST /account/sessions/revoke-others': NO,
  'POST /account/sessions/:session_id/revoke': NO,
  'GET /account/sign-in': NO,
  'POST /account/sign-in': NO,
  'GET /account/sign-in/email': NO,
  'POST /account/sign-in/email': NO,
  'GET /account/sign-in/email/code': NO,
  'POST /account/sign-in/email/code': NO,
  'GET /account/sign-in/passkey': NO,
  'POST /account/sign-in/passkey': NO,
  'GET /account/sign-in/second-step': NO,
  'POST /account/sign-in/second-step': NO,
  'GET /account/sign-out': NO,
  'POST /account/sign-out': NO,
  'GET /console/': NO,
  'GET /console/audit': NO,
  'POST /console/audit/download': 'to download the audit trail',
  'POST /console/audit/verify': NO,
  'POST /console/confirm': 'to open this page',
  'GET /console/first-admin': NO,
  'POST /console/first-admin': NO,
  'GET /console/keys': NO,
  'POST /console/keys': NO,
  'GET /console/mail': NO,
  'GET /console/mail/kept/:mail_id': 'to read this mail',
  'GET /console/mail/kept/:mail_id/frame': 'to read this mail',
  'POST /console/mail/:mail_id/discard': NO,
  'POST /console/mail/:mail_id/retry': NO,
  'POST /console/mail/test': NO,
  'GET /console/second-factor': NO,
  'POST /console/second-factor': NO,
  'GET /console/settings': NO,
  'GET /console/settings/docs/:document': NO,
  'GET /console/sign-in': NO,
  'POST /console/sign-in': NO,
  'GET /console/sign-in/passkey': NO,
  'POST /console/sign-in/passkey': NO,
  'GET /console/sign-in/second-step': NO,
  'POST /console/sign-in/second-step': NO,
  'POST /console/sign-out': NO,
  'GET /console/status': NO,
  'GET /console/users': NO,
  'GET /console/users/new': NO,
  'POST /console/users/new': NO,
  'GET /console/users/:user_id': NO,
  'POST /console/users/:user_id/ban': NO,
  'POST /console/users/:user_id/data': NO,
  'GET /console/users/:user_id/edit': NO,
  'POST /console/users/:user_id/edit': 'to edit this admin, for some',
  'POST /console/users/:user_id/revoke-admin': 'to remove the admin role of this user',
  'POST /console/users/:user_id/sessions/end-all': NO,
  'GET /console/users/invite': NO,
  'POST /console/users/invite': 'to invite an admin, for some',
  'POST /console/users/invite/:id/resend': NO,
  'POST /console/users/invite/:id/withdraw': NO,
  'POST /console/users/:user_id/delete': 'to delete this user',
  'POST /console/users/:user_id/make-admin': 'to make this user an admin',
  'POST /console/users/:user_id/plan': NO,
  'POST /console/users/:user_id/reset-second-factor': 'to reset the second factor of this user',
  'POST /console/users/:user_id/send-reset': NO,
  'POST /console/users/:user_id/unban': 'to unban this admin, for some',
  'POST /console/users/:user_id/verify': 'to verify this admin, for some',
  'POST /console/users/:user_id/keys/:key_id/disable': NO,
  'POST /console/users/:user_id/keys/:key_id/delete': NO,
  'POST /console/users/:user_id/keys/:key_id/enable': 'to enable this key of an admin, for some',
  'POST /console/users/:user_id/sessions/:session_id/revoke': NO,
  'GET /console/webhooks': NO,
  'POST /console/webhooks/resume': NO,
  'POST /console/webhooks/:webhook_id/discard': NO,
  'POST /console/webhooks/:webhook_id/retry': NO,
}

function describe({ asksForPassword = false }: FastifyContextConfig): string {
  if (asksForPassword === false) return NO
  if (asksForPassword === 'in-form') return EACH_TIME
  return `to ${asksForPassword.to}${asksForPassword.when ? ', for some' : ''}`
}

test('403: every page that asks for the password is known, and asks before anything else', async (t) => {
  const { configs, started } = await routesDuring(() => startApp(t, { env: EVERY_ROUTE, firstAdminToken: 'a-token-for-tests' }))
  const declared = [...configs].filter(([name, { page }]) => page !== undefined && !name.startsWith('HEAD'))
  assert.deepEqual(Object.fromEntries(declared.map(([name, config]) => [name, describe(config)])), PAGES)

  const cookie = await signIn(started.app, await admin(started))
  started.clock.advance({ minutes: 11 })
  const asking = Object.entries(PAGES).filter(([, asks]) => asks.startsWith('to ') && !asks.endsWith('for some'))
  assert.ok(asking.length > 5)
  for (const [name, asks] of asking) {
    const [method, path = ''] = name.split(' ')
    const url = path.replace(':key_id', randomUUID()).replace(/:\w+/g, '999999')
    const request = method === 'GET' ? visit(url, cookie) : submit(url, { email: 'new@example.com', name: 'My phone', secret: 'A' }, cookie)
    const asked = await started.app.inject(request)
    assert.equal(asked.statusCode, 403, name)
    assert.match(textOf(asked), new RegExp(`Confirm your password .* Enter it again ${asks}\\.`), name)
  }
})
