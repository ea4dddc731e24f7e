import type { FastifyReply } from 'fastify'
import type { LoginResult } from '../../../domain/sign-in/login.service.ts'
import type { Factors } from '../../../model/factor.ts'
import { Refusal } from '../../../model/refusal.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { PageArea } from '../../pipeline/declarations.ts'
import { Type } from '../../validation/schema.ts'
import type { Texts } from '../texts/texts.ts'
import { CODE, factorAnswer, PASSKEY, passkeyButton } from './elements/factors.ts'
import { type Form, formOf } from './elements/fields.ts'
import { productOrigin } from './hand-off.ts'
import type { PageParts, PageRoutes } from './page-parts.ts'
import type { Redirect } from './page-routes.ts'
import type { Page } from './shell.ts'
import { Next, returnPath, type Site, signInPath } from './site.ts'

const STEP_PATH = '/sign-in/second-step'
const FIELDS = { next: { schema: Next }, code: CODE, passkey: PASSKEY } as const
const STEP_FIELDS = {
  ...FIELDS,
  challenge: { schema: Type.String({ maxLength: 200 }) },
  methods: { schema: Type.Optional(Type.String({ maxLength: 100 })) },
} as const

type SecondStep = Extract<LoginResult<unknown>, { kind: 'second step' }>

/** The page that follows the right password, or the link of a mail, of an account with codes. */
export function secondStepPage(
  site: Site,
  texts: Texts,
  area: PageArea,
  { challenge, methods }: SecondStep,
  next: string | undefined,
): Page {
  return stepPage(site, texts, area, formOf(texts, STEP_FIELDS, { challenge, methods: methods.join(' '), next }))
}

/** The second step of signing in. Its page is the answer to the first step: no address leads to it. */
export function secondStepRoutes({ get, post }: PageRoutes, { site, cookies, login, pageLimiter }: PageParts, area: PageArea): void {
  get(STEP_PATH, { access: 'public', handle: () => ({ to: `/${area}/sign-in` }) })

  post(STEP_PATH, {
    access: 'public',
    asksForPassword: false,
    limits: { ip: 'login:ip' },
    fields: STEP_FIELDS,
    retry: (form, { texts }) => stepPage(site, texts, area, form),
    async handle({ body, request, texts }, reply) {
      const { origin, places } = request
      const answer = factorAnswer(texts, body.code, body.passkey)
      try {
        const session = await pageLimiter.settle(places, origin, () => login.pages.bySecondStep(origin, body.challenge, answer))
        cookies.setSession(reply, session)
        return { to: returnPath(body.next, area) }
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'invalid_challenge') throw error
        return { to: signInPath(area, body.next), notice: 'sign-in-ended' }
      }
    },
  })
}

function stepPage(
  site: Site,
  { signIn, buttons }: Texts,
  area: PageArea,
  { problem, values, field }: Form<keyof typeof STEP_FIELDS>,
): Page {
  const { root } = site
  const { challenge = '', methods = '', next } = values
  const byPasskey = methods.split(' ').includes('passkey')
  const content = html`${problem}<form class="form" method="post" action="${root}/${area}${STEP_PATH}">
<input type="hidden" name="challenge" value="${challenge}">
<input type="hidden" name="methods" value="${methods}">
<input type="hidden" name="next" value="${returnPath(next, area)}">
${field('code', { hasFocus: true })}
<button class="primary">${buttons.continue}</button>
${byPasskey ? passkeyButton({ root, text: buttons.usePasskey, name: 'passkey', challenge }) : undefined}
</form>
<p class="hint">${signIn.codeHelp}</p>
<p class="ways"><a href="${root}${signInPath(area, next)}">${buttons.backToSignIn}</a></p>`
  return { title: signIn.codeTitle, content, isLone: true, formOrigin: productOrigin(site, next) }
}

/** Where a session without a second factor is led if the settings require one: to giving it, or to setting one up. */
export function requiredFactorRoutes({ get, post }: PageRoutes, parts: PageParts, area: PageArea): void {
  const { site, cookies, login, secondFactor, passkeys, pageLimiter } = parts
  const everyone = { access: 'user', worksWithoutFactor: true } as const

  get('/second-factor', {
    ...everyone,
    query: { next: FIELDS.next.schema },
    handle: ({ query, actor, texts }, reply) =>
      actor.caller.secondFactor
        ? { to: returnPath(query.next, area) }
        : askOrSetUp(actor.caller.user.id, formOf(texts, FIELDS, query), reply),
  })

  post('/second-factor', {
    ...everyone,
    asksForPassword: false,
    fields: FIELDS,
    retry: async (form, { caller, texts }) => page(texts, form, await secondFactor.status(caller.user.id)),
    async handle({ body, actor, texts }) {
      await login.confirm(actor, factorAnswer(texts, body.code, body.passkey), pageLimiter)
      return { to: returnPath(body.next, area) }
    },
  })

  async function askOrSetUp(userId: number, form: Form<keyof typeof FIELDS>, reply: FastifyReply): Promise<Page | Redirect> {
    const factors = await secondFactor.status(userId)
    if (factors.totp || (passkeys !== undefined && factors.passkeys > 0)) return page(reply.request.texts, form, factors)
    if (!site.isEnabled.account) throw new Refusal('second_factor_required')
    cookies.rememberNext(reply, form.values['next'])
    return { to: '/account/security', notice: 'factor-required' }
  }

  function page(texts: Texts, { problem, values, field }: Form<keyof typeof FIELDS>, factors: Factors): Page {
    const { root } = site
    const { buttons, confirmation } = texts
    const button = html`<button class="primary">${buttons.continue}</button>`
    const byPasskey =
      passkeys !== undefined && factors.passkeys > 0 ? passkeyButton({ root, text: buttons.usePasskey, name: 'passkey' }) : undefined
    const content = html`${problem}<p>${factors.totp ? confirmation.codeRequired : confirmation.passkeyRequired}</p>
<form class="form" method="post" action="${root}/${area}/second-factor">
<input type="hidden" name="next" value="${returnPath(values['next'], area)}">
${factors.totp ? html`${field('code', { hasFocus: true })}\n${button}` : undefined}
${byPasskey}
</form>
${waysOut(texts, root, area, { canSetUp: site.isEnabled.account && !factors.totp })}`
    return { title: confirmation.title, content, isLone: true, formOrigin: productOrigin(site, values['next']) }
  }
}

/** Without the device that has the passkey, or without the script: codes, or another account. */
function waysOut({ buttons, security }: Texts, root: string, area: PageArea, { canSetUp }: { readonly canSetUp: boolean }): Html {
  const setUp = canSetUp ? html`<a href="${root}/account/security">${security.setUpTitle}</a>` : ''
  return html`<div class="ways">${setUp}<form method="post" action="${root}/${area}/sign-out"><button class="small">${buttons.signOut}</button></form></div>`
}
