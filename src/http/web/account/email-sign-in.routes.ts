import type { FastifyReply } from 'fastify'
import type { LoginResult } from '../../../domain/sign-in/login.service.ts'
import { Refusal } from '../../../model/refusal.ts'
import { html } from '../../../shared/html.ts'
import { answerError } from '../../answers/errors.ts'
import { Type } from '../../validation/schema.ts'
import { type Form, type FormFields, formOf } from '../site/elements/fields.ts'
import { productOrigin } from '../site/hand-off.ts'
import { NEW_ACCOUNT_FIELDS } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import { secondStepPage } from '../site/second-factor.routes.ts'
import type { Page } from '../site/shell.ts'
import { productLine } from '../site/sign-in.routes.ts'
import { areaOf, Next, returnPath, type Site, signInPath, withNext } from '../site/site.ts'
import type { Texts } from '../texts/texts.ts'

/** The code in the link of a mail. */
export const MAILED_CODE = { schema: Type.Optional(Type.String({ maxLength: 1024 })), isMailed: true } as const

const CODE_PATH = '/sign-in/email/code'
const TYPED_CODE = {
  email: { schema: NEW_ACCOUNT_FIELDS.email.schema },
  code: {
    schema: Type.String({ maxLength: 40 }),
    label: ({ fields }) => fields.code,
    autocomplete: 'one-time-code',
    inputMode: 'numeric',
    hint: ({ hints }) => hints.mailedCode,
  },
  next: { schema: Next },
} as const satisfies FormFields

/** Signing in by mail: with the link, or with the code that somebody types where they began. */
export function accountEmailSignInRoutes({ form, get, post }: PageRoutes, parts: PageParts): void {
  const { site, cookies, login, emailSignIn, limiter, pageLimiter } = parts
  if (!site.hasEmailSignIn) return
  const { root } = site

  function enter(reply: FastifyReply, result: LoginResult<string>, next: string | undefined): Page | { readonly to: string } {
    const to = returnPath(next, 'account')
    switch (result.kind) {
      case 'session':
        cookies.setSession(reply, result.session, areaOf(to))
        return { to }
      case 'second step':
        return secondStepPage(site, reply.request.texts, areaOf(to), result, next)
    }
  }

  form('/sign-in/email', {
    title: ({ signIn }) => signIn.byMail,
    isLone: true,
    access: 'public',
    asksForPassword: false,
    query: { next: Next },
    fields: { email: NEW_ACCOUNT_FIELDS.email, next: { schema: Next } },
    show: (
      { problem, values, field },
      { texts },
    ) => html`${problem}${productLine(site, texts, values['next'])}<p>${texts.signIn.mailText}</p>
<form class="form" method="post" action="${root}/account/sign-in/email">
<input type="hidden" name="next" value="${returnPath(values['next'], 'account')}">
${field('email', { hasFocus: true })}
<button class="primary">${texts.signIn.sendMail}</button>
</form>
<p class="ways"><a href="${root}${signInPath('account', values['next'])}">${texts.buttons.signInAnotherWay}</a></p>`,
    async submit({ body, request, texts }, reply) {
      await limiter.countMail(body.email, request.origin.ip)
      await emailSignIn.request(request.origin, body.email)
      // The link in the mail opens in another tab.
      cookies.rememberNext(reply, body.next)
      return codePage(site, texts, formOf(texts, TYPED_CODE, { email: body.email, next: body.next }))
    },
  })

  get(CODE_PATH, { access: 'public', handle: () => ({ to: '/account/sign-in/email' }) })
  post(CODE_PATH, {
    access: 'public',
    asksForPassword: false,
    limits: { ip: 'login:ip' },
    fields: TYPED_CODE,
    retry: (shown, { texts }) => codePage(site, texts, shown),
    async handle({ body: { email, code, next }, request: { origin, places } }, reply) {
      return enter(reply, await pageLimiter.settle(places, origin, () => login.pages.byMail(origin, { email, code })), next)
    },
  })

  // The page has a button, because mail scanners open links: only the button signs in.
  form('/email-sign-in', {
    title: ({ signIn }) => signIn.title,
    isLone: true,
    hasSecretAddress: true,
    access: 'public',
    asksForPassword: false,
    query: { code: MAILED_CODE.schema },
    arrive: ({ query, request }) => ({ code: query.code, next: cookies.readNext(request) }),
    fields: { code: MAILED_CODE, next: { schema: Next } },
    limits: { ip: 'login:ip' },
    show: ({ problem, values }, { texts }) => html`${problem}<p>${texts.signIn.linkText}</p>
<form class="form" method="post" action="${root}/account/email-sign-in">
<input type="hidden" name="code" value="${values['code'] ?? ''}">
<input type="hidden" name="next" value="${returnPath(values['next'], 'account')}">
<button class="primary">${texts.buttons.signIn}</button>
</form>
<p class="ways"><a href="${root}${signInPath('account', values['next'])}">${texts.buttons.signInAnotherWay}</a></p>`,
    async submit({ body: { code: token = '', next }, request, texts }, reply) {
      const { origin, places } = request
      try {
        return enter(reply, await pageLimiter.settle(places, origin, () => login.pages.byMail(origin, { token })), next)
      } catch (error) {
        if (!(error instanceof Refusal && error.code === 'code_refused')) throw error
        const { status, headers } = answerError(error, request)
        reply.headers(headers)
        return deadLinkPage(site, texts, { next, status })
      }
    },
  })
}

/** Nothing in the form would make the link work. */
function deadLinkPage({ root }: Site, { links, signIn }: Texts, { next, status }: { next: string | undefined; status: number }): Page {
  const content = html`<p class="notice bad" role="alert">${links.invalid}</p>
<p class="actions"><a class="button primary" href="${root}${withNext('account', '/sign-in/email', next)}">${signIn.sendAnotherMail}</a></p>`
  return { title: links.invalidTitle, content, isLone: true, status }
}

/** The answer to the request for a mail, whether or not the address has an account. */
function codePage(site: Site, texts: Texts, { problem, values, field }: Form<keyof typeof TYPED_CODE>): Page {
  const { root } = site
  const { email = '', next } = values
  const { signIn } = texts
  const content = html`${problem}<p>${signIn.mailSent(email)}</p>
<form class="form" method="post" action="${root}/account${CODE_PATH}">
<input type="hidden" name="email" value="${email}">
<input type="hidden" name="next" value="${returnPath(next, 'account')}">
${field('code', { hasFocus: true })}
<button class="primary">${texts.buttons.signIn}</button>
</form>
<p class="ways"><a href="${root}${returnPath(next, 'account')}">${signIn.linkOpened}</a><a href="${root}${withNext('account', '/sign-in/email', next)}">${signIn.sendAnotherMail}</a></p>`
  return { title: signIn.checkMail, content, isLone: true, formOrigin: productOrigin(site, next) }
}
