import type { Origin } from '../../../model/caller.ts'
import { html } from '../../../shared/html.ts'
import { NEW_ACCOUNT_FIELDS } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import { Next, returnPath, signInPath, toFrontend } from '../site/site.ts'

type MailRequest = {
  readonly title: string
  readonly text: string
  /** The same for every address, so that it does not say who has an account. */
  readonly done: string
  readonly send: (origin: Origin, email: string) => Promise<void>
}

/** Forms that have a mail sent to the address that somebody enters: for a new password, and to verify the address. */
export function accountMailRequestRoutes({ form }: PageRoutes, { site, cookies, registration, passwordReset, limiter }: PageParts): void {
  add('/forgot-password', {
    title: 'Forgot your password?',
    text: 'Enter the email address of your account. We send you a link to choose a new password.',
    done: 'If there is an account with this address, it gets an email with a link. The link works for 30 minutes.',
    send: passwordReset.request,
  })
  add('/resend-verification', {
    title: 'Verify your email address',
    text: 'Enter the email address of your account. We send you a new link to verify it.',
    done: 'If there is an account with this address that is not verified, it gets an email with a link. The link works for 24 hours.',
    send: registration.resendVerification,
  })

  function add(path: string, { title, text, done, send }: MailRequest): void {
    form(path, {
      title,
      isLone: true,
      access: 'public',
      asksForPassword: false,
      query: { next: Next },
      fields: { email: NEW_ACCOUNT_FIELDS.email, next: { schema: Next } },
      show: ({ problem, values, field }) => html`${problem}<p>${text}</p>
<form class="form" method="post" action="${site.root}/account${path}">
<input type="hidden" name="next" value="${returnPath(values['next'], 'account')}">
${field('email', { hasFocus: true })}
<button class="primary">Send link</button>
</form>
<p class="ways"><a href="${site.root}${signInPath('account', values['next'])}">Back to sign-in</a></p>`,
      async submit({ body, request }, reply) {
        await limiter.countMail(body.email, request.origin.ip)
        await send(request.origin, body.email)
        cookies.rememberNext(reply, body.next)
        const content = html`<p class="notice good" role="status">${done}</p>
<p>If no email arrives within a few minutes, check your spam folder and the address that you entered.</p>
<div class="actions">${toFrontend(site)}<a class="button" href="${site.root}${signInPath('account', body.next)}">Back to sign-in</a></div>`
        return { title: 'Check your email', content, isLone: true }
      },
    })
  }
}
