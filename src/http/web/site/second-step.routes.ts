import type { LoginResult } from '../../../domain/sign-in/login.service.ts'
import { Refusal } from '../../../model/refusal.ts'
import { html } from '../../../shared/html.ts'
import type { PageArea } from '../../pipeline/declarations.ts'
import { Type } from '../../validation/schema.ts'
import type { Texts } from '../texts/texts.ts'
import { CODE, factorAnswer, PASSKEY, passkeyButton } from './elements/factors.ts'
import { type Form, formOf } from './elements/fields.ts'
import { productOrigin } from './hand-off.ts'
import type { PageParts, PageRoutes } from './page-parts.ts'
import type { Page } from './shell.ts'
import { Next, returnPath, type Site, signInPath } from './site.ts'

const PATH = '/sign-in/second-step'
const FIELDS = {
  challenge: { schema: Type.String({ maxLength: 200 }) },
  methods: { schema: Type.Optional(Type.String({ maxLength: 100 })) },
  next: { schema: Next },
  code: CODE,
  passkey: PASSKEY,
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
  return stepPage(site, texts, area, formOf(texts, FIELDS, { challenge, methods: methods.join(' '), next }))
}

/** The second step of signing in. Its page is the answer to the first step: no address leads to it. */
export function secondStepRoutes({ get, post }: PageRoutes, { site, cookies, login, pageLimiter }: PageParts, area: PageArea): void {
  get(PATH, { access: 'public', handle: () => ({ to: `/${area}/sign-in` }) })

  post(PATH, {
    access: 'public',
    asksForPassword: false,
    limits: { ip: 'login:ip' },
    fields: FIELDS,
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

function stepPage(site: Site, { signIn, buttons }: Texts, area: PageArea, { problem, values, field }: Form<keyof typeof FIELDS>): Page {
  const { root } = site
  const { challenge = '', methods = '', next } = values
  const byPasskey = methods.split(' ').includes('passkey')
  const content = html`${problem}<form class="form" method="post" action="${root}/${area}${PATH}">
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
