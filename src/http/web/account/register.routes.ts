import { html } from '../../../shared/html.ts'
import { providerButtons } from '../site/elements/providers.ts'
import { arrivalOf, HAND_OFF_QUERY, productOrigin } from '../site/hand-off.ts'
import { NAME_FIELDS, NEW_ACCOUNT_FIELDS, namePair, registrantOf } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import { productLine } from '../site/sign-in.routes.ts'
import { Next, requestedPath, returnPath, signInPath, toFrontend, withNext } from '../site/site.ts'

/** Creating an account. Its owner verifies the address with a link before signing in. */
export function accountRegisterRoutes({ form }: PageRoutes, parts: PageParts): void {
  const { site, cookies, registration, limiter } = parts
  const { email, password } = NEW_ACCOUNT_FIELDS

  form('/register', {
    title: ({ buttons }) => buttons.register,
    isLone: true,
    access: 'public',
    asksForPassword: false,
    query: { next: Next, ...HAND_OFF_QUERY },
    arrive: arrivalOf(parts),
    fields: { ...NAME_FIELDS, email, password, next: { schema: Next } },
    show: (
      shown,
      { texts },
    ) => html`${shown.problem}${productLine(site, texts, shown.values['next'])}<form class="form" method="post" action="${site.root}/account/register">
<input type="hidden" name="next" value="${returnPath(shown.values['next'], 'account')}">
${namePair(shown, { first_name: { hasFocus: true } })}
${shown.field('email')}
${shown.field('password')}
<button class="primary">${texts.buttons.createAccount}</button>
</form>${providerButtons(texts, site.root, site.providers, { next: requestedPath(shown.values['next'], 'account') })}
<p class="ways"><span>${texts.register.hasAccount((text) => html`<a href="${site.root}${signInPath('account', shown.values['next'])}">${text}</a>`)}</span></p>`,
    async submit({ body, request, texts }, reply) {
      const { buttons, register, signIn } = texts
      await limiter.countAddress('register:ip', request.origin.ip)
      await registration.signUp(request.origin, registrantOf(body))
      // The link in the mail may be opened in another tab.
      cookies.rememberNext(reply, body.next)
      const toSignIn = html`<a class="button primary" href="${site.root}${signInPath('account', body.next)}">${buttons.signIn}</a>`
      const onward = productOrigin(site, body.next) === undefined ? (toFrontend(site, texts) ?? toSignIn) : toSignIn
      const content = html`<p class="notice good" role="status">${register.done}</p>
<p>${register.mailSent(body.email)}</p>
<div class="actions">${onward}<a class="button" href="${site.root}${withNext('account', '/resend-verification', body.next)}">${buttons.noEmail}</a></div>`
      return { title: signIn.checkMail, content, isLone: true }
    },
  })
}
