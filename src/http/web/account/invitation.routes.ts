import { REFUSALS } from '../../../model/refusal.ts'
import { html } from '../../../shared/html.ts'
import { formProblem } from '../site/elements/fields.ts'
import { NEW_ACCOUNT_FIELDS } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import { MAILED_CODE } from './email-sign-in.routes.ts'

const FIELDS = { code: MAILED_CODE, password: NEW_ACCOUNT_FIELDS.password } as const

/** The link of an invitation: the invited person sets a password, and is signed in. */
export function accountInvitationRoutes({ form }: PageRoutes, { site, cookies, invitations, pageLimiter }: PageParts): void {
  const closed = html`${formProblem(REFUSALS.invitation_not_found)}<p>Ask the person who has invited you for another invitation.</p>
<div class="actions"><a class="button" href="${site.root}/account/sign-in">Sign in</a></div>`

  form('/invitation', {
    title: 'Accept your invitation',
    isLone: true,
    hasSecretAddress: true,
    access: 'public',
    asksForPassword: false,
    query: { code: MAILED_CODE.schema },
    fields: FIELDS,
    limits: { ip: 'login:ip' },
    async show({ problem, values, field }) {
      const code = values['code'] ?? ''
      const invitation = await invitations.find(code)
      if (invitation === undefined) return closed
      const { email, firstName } = invitation
      return html`${problem}<p>Welcome, ${firstName}. Choose a password for your account <strong>${email}</strong>.</p>
<form class="form" method="post" action="${site.root}/account/invitation">
<input type="hidden" name="code" value="${code}">
<input type="hidden" name="username" autocomplete="username" value="${email}">
${field('password', { hasFocus: true })}
<button class="primary">Create account</button>
</form>`
    },
    async submit({ body, request: { origin, places } }, reply) {
      const accept = () => invitations.accept(origin, body.code ?? '', body.password)
      cookies.setSession(reply, await pageLimiter.settle(places, origin, accept))
      return { to: '/account/', notice: 'invitation-accepted' }
    },
  })
}
