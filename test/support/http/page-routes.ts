import type { FastifyContextConfig } from 'fastify'
import type { Access } from '../../../src/http/pipeline/declarations.ts'
import { CONSOLE_TEXTS, labelText } from '../../../src/http/web/texts/texts.ts'
import type { ApiRoute } from './api-routes.ts'

/** Where to add a page, for the messages of tests. */
export const PAGE_ROUTES_FILE = 'test/support/http/page-routes.ts'

const EACH_TIME = 'each time, by a field of its form'

type PageRoute = {
  /** Who may open it. */
  readonly access: Access
  /** What a password that was given over ten minutes ago is asked for. `for some` is a rule that has its own test. */
  readonly asks?: string
  /** Where a second factor is required: never asked for here, or not asked for to set one up. */
  readonly factor?: Exclude<ApiRoute['factor'], 'guards role'>
}

/**
 * Every page, who may open it, and what it asks for. This is written down independently of the declarations of the pages, and
 * test/http/web/site/recent-password.test.ts compares both. A new page needs a row here, and in no other table.
 */
export const PAGE_ROUTES: Readonly<Record<string, PageRoute>> = {
  'GET /account/': { access: 'user' },
  'POST /account/': { access: 'user' },
  'POST /account/confirm': { access: 'user', asks: 'to open this page', factor: 'never' },
  'POST /account/delete': { access: 'user', asks: EACH_TIME },
  'POST /account/language': { access: 'user' },
  'POST /account/email': { access: 'user', asks: 'to change your address' },
  'GET /account/connect': { access: 'public' },
  'GET /account/connect/confirm': { access: 'user' },
  'POST /account/connect/confirm': { access: 'user', asks: 'to connect this account' },
  'GET /account/email-sign-in': { access: 'public' },
  'POST /account/email-sign-in': { access: 'public' },
  'GET /account/forgot-password': { access: 'public' },
  'POST /account/forgot-password': { access: 'public' },
  'GET /account/invitation': { access: 'public' },
  'POST /account/invitation': { access: 'public' },
  'GET /account/invitation/passkey': { access: 'public' },
  'POST /account/invitation/passkey': { access: 'public' },
  'GET /account/hand-off': { access: 'user' },
  'GET /account/keys': { access: 'user' },
  'POST /account/keys': { access: 'user', asks: 'to create this key, for some' },
  'GET /account/keys/new': { access: 'user' },
  'GET /account/keys/:key_id': { access: 'user' },
  'POST /account/keys/:key_id/delete': { access: 'user' },
  'POST /account/keys/:key_id/disable': { access: 'user' },
  'POST /account/keys/:key_id/enable': { access: 'user', asks: 'to enable this key, for some' },
  'POST /account/keys/:key_id/limit': { access: 'user', asks: 'to change the limit of this key, for some' },
  'POST /account/keys/:key_id/rotate': { access: 'user', asks: 'to rotate this key, for some' },
  'GET /account/password': { access: 'user' },
  'POST /account/password': { access: 'user', asks: EACH_TIME },
  'GET /account/register': { access: 'public' },
  'POST /account/register': { access: 'public' },
  'GET /account/resend-verification': { access: 'public' },
  'POST /account/resend-verification': { access: 'public' },
  'GET /account/second-factor': { access: 'user', factor: 'never' },
  'POST /account/second-factor': { access: 'user', factor: 'never' },
  'GET /account/security': { access: 'user', factor: 'setup' },
  'POST /account/security/codes': { access: 'user', asks: 'to set up codes from an app', factor: 'setup' },
  'POST /account/security/codes/off': { access: 'user', asks: 'to turn codes from an app off', factor: 'setup' },
  'POST /account/security/codes/on': { access: 'user', asks: 'to turn codes from an app on', factor: 'setup' },
  'POST /account/security/passkeys': { access: 'user', asks: 'to add a passkey', factor: 'setup' },
  'GET /account/security/passkeys/new': { access: 'user', asks: 'to add a passkey', factor: 'setup' },
  'GET /account/security/passkeys/:passkey_id': { access: 'user', factor: 'setup' },
  'POST /account/security/passkeys/:passkey_id': { access: 'user', factor: 'setup' },
  'POST /account/security/passkeys/:passkey_id/remove': { access: 'user', asks: 'to remove this passkey', factor: 'setup' },
  'POST /account/security/providers/:provider/disconnect': { access: 'user', asks: 'to disconnect this account' },
  'GET /account/security/recovery-codes': { access: 'user', factor: 'setup' },
  'POST /account/security/recovery-codes': { access: 'user', asks: 'to get new recovery codes', factor: 'setup' },
  'GET /account/sessions': { access: 'user' },
  'POST /account/sessions/revoke-others': { access: 'user' },
  'POST /account/sessions/:session_id/revoke': { access: 'user' },
  'GET /account/sign-in': { access: 'public' },
  'POST /account/sign-in': { access: 'public' },
  'GET /account/sign-in/email': { access: 'public' },
  'POST /account/sign-in/email': { access: 'public' },
  'GET /account/sign-in/email/code': { access: 'public' },
  'POST /account/sign-in/email/code': { access: 'public' },
  'GET /account/sign-in/passkey': { access: 'public' },
  'POST /account/sign-in/passkey': { access: 'public' },
  'GET /account/sign-in/second-step': { access: 'public' },
  'POST /account/sign-in/second-step': { access: 'public' },
  'GET /account/sign-out': { access: 'public' },
  'POST /account/sign-out': { access: 'user', factor: 'never' },
  'GET /console/': { access: 'admin' },
  'GET /console/audit': { access: 'admin' },
  'POST /console/audit/download': { access: 'admin', asks: 'to download the audit trail' },
  'POST /console/audit/verify': { access: 'admin' },
  'POST /console/confirm': { access: 'admin', asks: 'to open this page', factor: 'never' },
  'GET /console/first-admin': { access: 'public' },
  'POST /console/first-admin': { access: 'public' },
  'GET /console/keys': { access: 'admin' },
  'POST /console/keys': { access: 'admin' },
  'POST /console/keys/search': { access: 'admin' },
  'GET /console/mail': { access: 'admin' },
  'GET /console/mail/kept/:mail_id': { access: 'admin', asks: 'to read this mail' },
  'GET /console/mail/kept/:mail_id/frame': { access: 'admin', asks: 'to read this mail' },
  'POST /console/mail/:mail_id/discard': { access: 'admin' },
  'POST /console/mail/:mail_id/retry': { access: 'admin' },
  'POST /console/mail/test': { access: 'admin' },
  'GET /console/second-factor': { access: 'user', factor: 'never' },
  'POST /console/second-factor': { access: 'user', factor: 'never' },
  'GET /console/settings': { access: 'admin' },
  'GET /console/settings/docs/:document': { access: 'admin' },
  'GET /console/sign-in': { access: 'public' },
  'POST /console/sign-in': { access: 'public' },
  'GET /console/sign-in/passkey': { access: 'public' },
  'POST /console/sign-in/passkey': { access: 'public' },
  'GET /console/sign-in/second-step': { access: 'public' },
  'POST /console/sign-in/second-step': { access: 'public' },
  'POST /console/sign-out': { access: 'user', factor: 'never' },
  'GET /console/status': { access: 'admin' },
  'GET /console/users': { access: 'admin' },
  'POST /console/users': { access: 'admin' },
  'GET /console/users/new': { access: 'admin' },
  'POST /console/users/new': { access: 'admin' },
  'GET /console/users/:user_id': { access: 'admin' },
  'POST /console/users/:user_id/ban': { access: 'admin' },
  'POST /console/users/:user_id/data': { access: 'admin' },
  'GET /console/users/:user_id/edit': { access: 'admin' },
  'POST /console/users/:user_id/edit': { access: 'admin', asks: 'to edit this admin, for some' },
  'POST /console/users/:user_id/revoke-admin': { access: 'admin', asks: 'to remove the admin role of this user' },
  'POST /console/users/:user_id/sessions/end-all': { access: 'admin' },
  'GET /console/users/invite': { access: 'admin' },
  'POST /console/users/invite': { access: 'admin', asks: 'to invite an admin, for some' },
  'POST /console/users/invite/:id/resend': { access: 'admin' },
  'POST /console/users/invite/:id/withdraw': { access: 'admin' },
  'POST /console/users/:user_id/delete': { access: 'admin', asks: 'to delete this user' },
  'POST /console/users/:user_id/make-admin': { access: 'admin', asks: 'to make this user an admin' },
  'POST /console/users/:user_id/plan': { access: 'admin' },
  'POST /console/users/:user_id/reset-second-factor': { access: 'admin', asks: 'to reset the second factor of this user' },
  'POST /console/users/:user_id/send-reset': { access: 'admin' },
  'POST /console/users/:user_id/unban': { access: 'admin', asks: 'to unban this admin, for some' },
  'POST /console/users/:user_id/verify': { access: 'admin', asks: 'to verify this admin, for some' },
  'POST /console/users/:user_id/keys/:key_id/disable': { access: 'admin' },
  'POST /console/users/:user_id/keys/:key_id/delete': { access: 'admin' },
  'POST /console/users/:user_id/keys/:key_id/enable': { access: 'admin', asks: 'to enable this key of an admin, for some' },
  'POST /console/users/:user_id/sessions/:session_id/revoke': { access: 'admin' },
  'GET /console/webhooks': { access: 'admin' },
  'POST /console/webhooks/resume': { access: 'admin' },
  'POST /console/webhooks/:webhook_id/discard': { access: 'admin' },
  'POST /console/webhooks/:webhook_id/retry': { access: 'admin' },
}

/** What a page declares, in the words of the table. */
export function describePage({ access, asksForPassword, worksWithoutFactor }: FastifyContextConfig): object {
  return {
    access,
    ...(asksForPassword === 'in-form' && { asks: EACH_TIME }),
    ...(typeof asksForPassword === 'object' && {
      asks: `to ${labelText(asksForPassword.to, CONSOLE_TEXTS)}${asksForPassword.when ? ', for some' : ''}`,
    }),
    ...(worksWithoutFactor && { factor: worksWithoutFactor === 'setup' ? 'setup' : 'never' }),
  }
}

/** The row of a page. */
export function pageOf(name: string): PageRoute {
  const row = PAGE_ROUTES[name]
  if (row === undefined) throw new Error(`${name} has no row in ${PAGE_ROUTES_FILE}`)
  return row
}
