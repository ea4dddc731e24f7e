import { html } from '../../../shared/html.ts'
import { NAME_FIELDS, NEW_ACCOUNT_FIELDS, namePair, registrantOf } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import { toFrontend } from '../site/site.ts'

/** Creating an account. Its owner verifies the address with a link before signing in. */
export function accountRegisterRoutes({ form }: PageRoutes, { site, registration, limiter }: PageParts): void {
  const { email, password } = NEW_ACCOUNT_FIELDS

  form('/register', {
    title: 'Create an account',
    isLone: true,
    access: 'public',
    asksForPassword: false,
    fields: { ...NAME_FIELDS, email, password },
    show: (shown) => html`${shown.problem}<form class="form" method="post" action="${site.root}/account/register">
${namePair(shown, { first_name: { hasFocus: true } })}
${shown.field('email')}
${shown.field('password')}
<button class="primary">Create account</button>
</form>
<p class="ways"><span>Already have an account? <a href="${site.root}/account/sign-in">Sign in</a></span></p>`,
    async submit({ body, request }) {
      await limiter.countAddress('register:ip', request.origin.ip)
      await registration.signUp(request.origin, registrantOf(body))
      const content = html`<p class="notice good" role="status">Your account has been created.</p>
<p>We have sent an email to <strong>${body.email}</strong>. Open the link in it within 24 hours to verify your address, then sign in.</p>
<div class="actions">${toFrontend(site) ?? html`<a class="button primary" href="${site.root}/account/sign-in">Sign in</a>`}<a class="button" href="${site.root}/account/resend-verification">No email?</a></div>`
      return { title: 'Check your email', content, isLone: true }
    },
  })
}
