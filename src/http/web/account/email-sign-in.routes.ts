import { html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import { secondStepPage } from '../site/second-step.routes.ts'

/** The code in the link of a mail. */
export const MAILED_CODE = { schema: Type.Optional(Type.String({ maxLength: 1024 })), isMailed: true } as const

/** The link of a sign-in mail. The page has a button, because mail scanners open links: only the button signs in. */
export function accountEmailSignInRoutes({ form }: PageRoutes, { site, cookies, login, pageLimiter }: PageParts): void {
  if (!site.hasEmailSignIn) return
  const { root } = site

  form('/email-sign-in', {
    title: 'Sign in',
    isLone: true,
    hasSecretAddress: true,
    access: 'public',
    asksForPassword: false,
    query: { code: MAILED_CODE.schema },
    fields: { code: MAILED_CODE },
    limits: { ip: 'login:ip' },
    show: ({ problem, values }) => html`${problem}<p>The link in your email contains a code that works once, within 15 minutes.</p>
<form class="form" method="post" action="${root}/account/email-sign-in">
<input type="hidden" name="code" value="${values['code'] ?? ''}">
<button class="primary">Sign in</button>
</form>
<p class="ways"><a href="${root}/account/sign-in">Sign in another way</a></p>`,
    async submit({ body, request: { origin, places } }, reply) {
      const result = await pageLimiter.settle(places, origin, () => login.pages.byMail(origin, { token: body.code ?? '' }))
      switch (result.kind) {
        case 'session':
          cookies.setSession(reply, result.session)
          return { to: '/account/' }
        case 'second step':
          return secondStepPage(site, 'account', result, undefined)
      }
    },
  })
}
