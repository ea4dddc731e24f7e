import type { Origin } from '../../../model/caller.ts'
import { html } from '../../../shared/html.ts'
import { NEW_ACCOUNT_FIELDS } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import { Next, returnPath, signInPath, toFrontend } from '../site/site.ts'
import type { Texts } from '../texts/texts.ts'

type MailRequest = {
  /** The answer is the same for every address, so that it does not say who has an account. */
  readonly shown: (texts: Texts) => Texts['mailRequest']['password']
  readonly send: (origin: Origin, email: string) => Promise<void>
}

/** Forms that have a mail sent to the address that somebody enters: for a new password, and to verify the address. */
export function accountMailRequestRoutes({ form }: PageRoutes, { site, cookies, registration, passwordReset, limiter }: PageParts): void {
  add('/forgot-password', {
    shown: ({ mailRequest }) => mailRequest.password,
    send: passwordReset.request,
  })
  add('/resend-verification', {
    shown: ({ mailRequest }) => mailRequest.verification,
    send: registration.resendVerification,
  })

  function add(path: string, { shown, send }: MailRequest): void {
    form(path, {
      title: (texts) => shown(texts).title,
      isLone: true,
      access: 'public',
      asksForPassword: false,
      query: { next: Next },
      fields: { email: NEW_ACCOUNT_FIELDS.email, next: { schema: Next } },
      show: ({ problem, values, field }, { texts }) => html`${problem}<p>${shown(texts).text}</p>
<form class="form" method="post" action="${site.root}/account${path}">
<input type="hidden" name="next" value="${returnPath(values['next'], 'account')}">
${field('email', { hasFocus: true })}
<button class="primary">${texts.mailRequest.send}</button>
</form>
<p class="ways"><a href="${site.root}${signInPath('account', values['next'])}">${texts.buttons.backToSignIn}</a></p>`,
      async submit({ body, request, texts }, reply) {
        await limiter.countMail(body.email, request.origin.ip)
        await send(request.origin, body.email)
        cookies.rememberNext(reply, body.next)
        const content = html`<p class="notice good" role="status">${shown(texts).done}</p>
<p>${texts.mailRequest.noMail}</p>
<div class="actions">${toFrontend(site, texts)}<a class="button" href="${site.root}${signInPath('account', body.next)}">${texts.buttons.backToSignIn}</a></div>`
        return { title: texts.signIn.checkMail, content, isLone: true }
      },
    })
  }
}
