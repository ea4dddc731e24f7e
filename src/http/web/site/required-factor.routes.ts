import type { FastifyReply } from 'fastify'
import { Refusal } from '../../../model/refusal.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { PageArea } from '../../pipeline/declarations.ts'
import type { Texts } from '../texts/texts.ts'
import { CODE, factorAnswer, PASSKEY, passkeyButton } from './elements/factors.ts'
import { type Form, formOf } from './elements/fields.ts'
import { productOrigin } from './hand-off.ts'
import type { PageParts, PageRoutes } from './page-parts.ts'
import type { Redirect } from './page-routes.ts'
import type { Page } from './shell.ts'
import { Next, returnPath } from './site.ts'

const FIELDS = { next: { schema: Next }, code: CODE, passkey: PASSKEY } as const

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

  function page(
    texts: Texts,
    { problem, values, field }: Form<keyof typeof FIELDS>,
    factors: { readonly totp: boolean; readonly passkeys: number },
  ): Page {
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
function waysOut({ buttons, confirmation }: Texts, root: string, area: PageArea, { canSetUp }: { readonly canSetUp: boolean }): Html {
  const setUp = canSetUp ? html`<a href="${root}/account/security">${confirmation.setUpCodes}</a>` : ''
  return html`<div class="ways">${setUp}<form method="post" action="${root}/${area}/sign-out"><button class="small">${buttons.signOut}</button></form></div>`
}
