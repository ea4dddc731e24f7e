import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { PasswordReset } from '../../../domain/sign-in/password-reset.service.ts'
import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import type { Origin } from '../../../model/caller.ts'
import { html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Email } from '../../validation/schema.ts'
import { formProblem, inputField, NO_PROBLEMS, type Problems } from '../site/elements/fields.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import { toFrontend } from '../site/site.ts'

export type MailRequestParts = PageParts & {
  readonly registration: Registration
  readonly passwordReset: PasswordReset
  readonly limiter: Limiter
}

type MailRequest = {
  readonly path: string
  readonly title: string
  readonly text: string
  readonly button: string
  /** The same for every address, so that it does not say who has an account. */
  readonly done: string
  readonly request: (origin: Origin, email: string) => Promise<void>
}

const LABELS = { email: 'Email' }

/** Forms that have a mail sent to the address that somebody enters: for a new password, and to verify the address. */
export function accountMailRequestRoutes(app: App, parts: MailRequestParts): void {
  const { site, registration, passwordReset, limiter } = parts
  const { get, post } = createPageRoutes(app, parts, 'account')

  add({
    path: '/forgot-password',
    title: 'Forgot your password?',
    text: 'Enter the email address of your account. We send you a link to choose a new password.',
    button: 'Send link',
    done: 'If there is an account with this address, an email with a link is on its way. The link works for 30 minutes.',
    request: passwordReset.request,
  })
  add({
    path: '/resend-verification',
    title: 'Verify your email address',
    text: 'Enter the email address of your account. We send you a new link to verify it.',
    button: 'Send link',
    done: 'If there is an account with this address that is not verified, an email with a link is on its way. The link works for 24 hours.',
    request: registration.resendVerification,
  })

  function add(mail: MailRequest): void {
    const retry = (problems: Problems, values: Readonly<Record<string, string>>) => form(mail, problems, values)
    get(mail.path, { access: 'public' }, () => form(mail, NO_PROBLEMS, {}))
    post(
      mail.path,
      { asksForPassword: false, access: 'public', body: { email: Email }, labels: LABELS, retry },
      async ({ body, request }) => {
        await limiter.countMail(body.email, request.origin.ip)
        await mail.request(request.origin, body.email)
        return donePage(mail)
      },
    )
  }

  function form(mail: MailRequest, problems: Problems, values: Readonly<Record<string, string>>): Page {
    const content = html`${formProblem(problems)}<p>${mail.text}</p>
<form class="form" method="post" action="${site.root}/account${mail.path}">
${inputField({ name: 'email', label: LABELS.email, type: 'email', autocomplete: 'username', value: values['email'], hasFocus: true }, problems)}
<button class="primary">${mail.button}</button>
</form>
<p class="ways"><a href="${site.root}/account/sign-in">Back to sign-in</a></p>`
    return { title: mail.title, content, isLone: true }
  }

  function donePage({ done }: MailRequest): Page {
    const content = html`<p class="notice good" role="status">${done}</p>
<p>If no email arrives within a few minutes, check your spam folder and the address that you entered.</p>
<div class="actions">${toFrontend(site)}<a class="button" href="${site.root}/account/sign-in">Back to sign-in</a></div>`
    return { title: 'Check your email', content, isLone: true }
  }
}
