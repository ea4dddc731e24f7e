import type { FastifyRequest } from 'fastify'
import { type Html, html } from '../../../shared/html.ts'
import { COMMAND } from '../../../shared/program.ts'
import type { PageArea } from '../../pipeline/declarations.ts'
import { isLocalClient } from '../../pipeline/reachability.ts'
import { Email, GivenPassword } from '../../validation/schema.ts'
import { type Label, labelText, type Texts } from '../texts/texts.ts'
import { credentialOf, PASSKEY, passkeyButton } from './elements/factors.ts'
import { type Form, type FormFields, formOf } from './elements/fields.ts'
import { providerButtons } from './elements/providers.ts'
import { arrivalOf, HAND_OFF_QUERY, productOrigin, ReturnTo, returnAddress } from './hand-off.ts'
import type { PageParts, PageRoutes } from './page-parts.ts'
import { CONFIRM_PATH } from './recent-password.ts'
import { secondStepPage } from './second-factor.routes.ts'
import { Next, requestedPath, returnPath, type Site, withNext } from './site.ts'

const FIELDS = {
  email: { schema: Email, label: ({ fields }) => fields.email, type: 'email', autocomplete: 'username' },
  password: { schema: GivenPassword, label: ({ fields }) => fields.password, type: 'password', autocomplete: 'current-password' },
  next: { schema: Next },
} as const satisfies FormFields
const PASSKEY_PATH = '/sign-in/passkey'
const TITLES: Readonly<Record<PageArea, Label>> = { console: 'Sign in to the console', account: ({ signIn }) => signIn.title }

/** Signing in and out, for both areas. Each has its own session. */
export function signInRoutes({ form, get, post }: PageRoutes, parts: PageParts, area: PageArea): void {
  const { site, cookies, login, pageLimiter, passkeys } = parts
  const isForProduct = area === 'account'
  const { root, isEnabled, providers } = site
  const email = passkeys === undefined ? {} : { autocomplete: 'username webauthn' }

  async function show({ problem, values, field }: Form<keyof typeof FIELDS>, request: FastifyRequest): Promise<Html> {
    const { texts } = request
    const { buttons } = texts
    const steps = area === 'console' ? await firstSteps(parts, request) : undefined
    const isKnown = Boolean(values['email'])
    const next = html`<input type="hidden" name="next" value="${returnPath(values['next'], area)}">`
    const product = isForProduct ? productLine(site, texts, values['next']) : undefined
    const byPasskey = html`\n<form class="form" method="post" action="${root}/${area}${PASSKEY_PATH}">${next}
${passkeyButton({ root, text: buttons.usePasskey, name: 'passkey', hasAutofill: true })}</form>`
    return html`${problem}${steps}${product}<form class="form" method="post" action="${root}/${area}/sign-in">
${next}
${field('email', { ...email, hasFocus: !isKnown && steps === undefined })}
${field('password', { hasFocus: isKnown })}
<button${steps === undefined ? html` class="primary"` : ''}>${buttons.signIn}</button>
</form>${passkeys && byPasskey}${providerButtons(texts, root, providers, { next: area === 'console' ? returnPath(values['next'], area) : requestedPath(values['next'], area) })}${isEnabled.account ? accountLinks(site, texts, area, values['next']) : ''}`
  }

  form('/sign-in', {
    title: TITLES[area],
    isLone: true,
    access: 'public',
    asksForPassword: false,
    query: { next: Next, ...HAND_OFF_QUERY },
    arrive: isForProduct ? arrivalOf(parts) : undefined,
    fields: FIELDS,
    limits: { ip: 'login:ip', account: 'login:account' },
    show,
    async submit({ body, request, texts }, reply) {
      const { origin, places } = request
      const result = await pageLimiter.settle(places, origin, () => login.pages.byPassword(origin, body.email, body.password))
      switch (result.kind) {
        case 'session':
          cookies.setSession(reply, result.session)
          return { to: returnPath(body.next, area) }
        case 'second step':
          return secondStepPage(site, texts, area, result, body.next)
      }
    },
  })

  if (passkeys !== undefined) {
    get(PASSKEY_PATH, { access: 'public', handle: () => ({ to: `/${area}/sign-in` }) })
    post(PASSKEY_PATH, {
      access: 'public',
      asksForPassword: false,
      limits: { ip: 'login:ip' },
      fields: { next: FIELDS.next, passkey: PASSKEY },
      retry: async ({ problem, values }, request) => ({
        title: labelText(TITLES[area], request.texts),
        isLone: true,
        formOrigin: productOrigin(site, values['next']),
        content: await show({ ...formOf(request.texts, FIELDS, values), problem }, request),
      }),
      async handle({ body, request }, reply) {
        const { origin, places } = request
        const credential = credentialOf(body.passkey ?? '')
        cookies.setSession(reply, await pageLimiter.settle(places, origin, () => login.pages.byPasskey(origin, credential)))
        return { to: returnPath(body.next, area) }
      },
    })
  }

  // A page that is only read cannot take a password: the question there leads here, and from here back.
  post(CONFIRM_PATH, {
    worksWithoutFactor: true,
    asksForPassword: { to: ({ purposes }) => purposes.openPage, cancel: `/${area}/` },
    fields: { next: FIELDS.next },
    handle: ({ body }) => ({ to: returnPath(body.next, area) }),
  })

  // For every user: also one who may not see the console must be able to leave it.
  post('/sign-out', {
    asksForPassword: false,
    access: 'user',
    worksWithoutFactor: true,
    fields: { return_to: { schema: ReturnTo } },
    async handle({ actor, body }, reply) {
      const away = isForProduct && body?.return_to ? returnAddress(site, body.return_to) : undefined
      await login.logout(actor)
      cookies.clearSession(reply)
      return away === undefined ? { to: `/${area}/sign-in`, notice: 'signed-out' } : { away }
    },
  })
}

/** Without an admin, nobody can sign in to the console. Says what to do then. */
async function firstSteps({ userDirectory, firstAdmin }: PageParts, request: FastifyRequest): Promise<Html | undefined> {
  if (await userDirectory.hasAdmin()) return undefined
  const hasForm = isLocalClient(request) && (await firstAdmin.isOpen())
  const ways = hasForm
    ? 'Create one with the link that the terminal of this service shows, or with this command:'
    : 'Create one in a terminal, on the machine of this service:'
  return html`<div class="notice warn"><p>There is no admin yet. ${ways}</p></div>
<pre tabindex="0">${unbroken(`${COMMAND} user create --admin --email you@example.com --first-name You --last-name Admin`)}</pre>\n`
}

/** A command in lines that never end within a word: browsers break after a hyphen. */
function unbroken(command: string): Html {
  const [first = '', ...others] = command.split(' ').map((word) => html`<span class="nowrap">${word}</span>`)
  return others.reduce((line, word) => html`${line} ${word}`, html`${first}`)
}

/** Says for whom somebody signs in, where that is a product. */
export function productLine(site: Site, { signIn }: Texts, next: string | undefined): Html | undefined {
  const origin = productOrigin(site, next)
  return origin === undefined ? undefined : html`<p>${signIn.toProduct(new URL(origin).host)}</p>\n`
}

function accountLinks({ root, hasEmailSignIn }: Site, { signIn, buttons }: Texts, area: PageArea, requested: string | undefined): Html {
  // Only signing in to the account pages leads to the requested page again.
  const to = (path: string) => `${root}${withNext('account', path, area === 'account' ? requested : undefined)}`
  const byMail = hasEmailSignIn ? html`<a href="${to('/sign-in/email')}">${signIn.byMail}</a>` : ''
  const others = area === 'account' ? html`${byMail}<a href="${to('/register')}">${buttons.register}</a>` : ''
  return html`\n<p class="ways">${others}<a href="${to('/forgot-password')}">${buttons.forgotPassword}</a><a href="${to('/resend-verification')}">${buttons.noVerification}</a></p>`
}
