import type { FastifyReply, FastifyRequest } from 'fastify'
import { encode } from 'uqr'
import type { Factors, Passkey } from '../../../model/factor.ts'
import type { User } from '../../../model/user.ts'
import { totpUri } from '../../../security/totp.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { askedForm, badge, emptyState, mainCell, never, splitCard, tableCard } from '../site/elements/cards.ts'
import { CODE } from '../site/elements/factors.ts'
import { actionForm, type Form, type FormFields, formOf } from '../site/elements/fields.ts'
import { shortText } from '../site/elements/format.ts'
import { productOrigin } from '../site/hand-off.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Redirect } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import { returnPath, type Site } from '../site/site.ts'
import type { Label, Texts } from '../texts/texts.ts'
import { providersCard } from './providers.routes.ts'

const PATH = '/account/security'
const CODES_PATH = `${PATH}/recovery-codes`
const SET_UP = {
  secret: { schema: Type.String({ maxLength: 32 }) },
  code: { ...CODE, inputMode: 'numeric', hint: ({ hints }) => hints.appCode },
} as const satisfies FormFields
/** What the sealed cookie with new recovery codes is for. */
const COOKIE = 'recovery-codes'

/** What an account has besides its password: codes from an app, recovery codes and passkeys. */
export function accountSecurityRoutes({ get, post, action }: PageRoutes, parts: PageParts): void {
  const { site, cookies, secondFactor, passkeys, providers } = parts
  // Where a second factor is required, nobody could set one up otherwise.
  const open = { worksWithoutFactor: 'setup' } as const
  const asks = (to: Label) => ({ asksForPassword: { to, cancel: PATH } })

  get('/security', {
    ...open,
    async handle({ actor, request, texts }) {
      const { user, hasFactor } = actor.caller
      const next = hasFactor ? cookies.readNext(request) : undefined
      const page = securityPage(site, texts, await secondFactor.status(user.id), await passkeys?.list(user.id), next)
      return { ...page, content: html`${page.content}\n${providersCard(site, texts, await providers.list(user.id))}` }
    },
  })

  post('/security/codes', {
    ...open,
    ...asks(({ purposes }) => purposes.setUpCodes),
    async handle({ actor, texts }) {
      const { secret } = await secondFactor.begin(actor)
      return setUpPage(site, texts, actor.caller.user, formOf(texts, SET_UP, { secret }))
    },
  })

  post('/security/codes/on', {
    ...open,
    ...asks(({ purposes }) => purposes.turnCodesOn),
    fields: SET_UP,
    retry: (form, { caller, texts }) => setUpPage(site, texts, caller.user, form),
    async handle({ body, actor, request }, reply) {
      return showOnce(request, reply, await secondFactor.confirm(actor, (body.code ?? '').replaceAll(' ', '')))
    },
  })

  action('/security/codes/off', {
    ...open,
    ...asks(({ purposes }) => purposes.turnCodesOff),
    change: ({ actor }) => secondFactor.remove(actor),
    to: PATH,
    notice: 'codes-off',
  })

  post('/security/recovery-codes', {
    ...open,
    ...asks(({ purposes }) => purposes.renewRecoveryCodes),
    async handle({ actor, request }, reply) {
      return showOnce(request, reply, await secondFactor.renewRecoveryCodes(actor))
    },
  })

  get('/security/recovery-codes', {
    ...open,
    handle({ request, actor, texts }, reply) {
      const codes = cookies.takeSecret(request, reply, COOKIE)
      return codes === undefined ? { to: PATH } : recoveryPage(site, texts, actor.caller.user, codes.split(','))
    },
  })

  /** Leads to the page with the codes, so that a reload repeats nothing. They travel in a sealed cookie. */
  function showOnce(request: FastifyRequest, reply: FastifyReply, codes: readonly string[]): Redirect {
    cookies.setSecret(request, reply, COOKIE, codes.join(','))
    return { to: CODES_PATH }
  }
}

function securityPage(
  site: Site,
  texts: Texts,
  factors: Factors,
  passkeys: readonly Passkey[] | undefined,
  next: string | undefined,
): Page {
  const { navigation } = texts
  const origin = productOrigin(site, next)
  const actions =
    origin &&
    html`<a class="button primary" href="${site.root}${returnPath(next, 'account')}">${navigation.toProduct(new URL(origin).host)}</a>`
  return {
    title: navigation.security,
    actions: actions || undefined,
    content: html`${codesCard(site, texts, factors)}\n${passkeys && passkeysCard(site, texts, passkeys)}`,
  }
}

function codesCard({ root }: Site, { security }: Texts, { totp, recoveryCodes }: Factors): Html {
  const off = html`<div class="form"><p>${badge('', security.off)}</p>
<div class="actions">${actionForm(`${root}${PATH}/codes`, security.setUp, 'primary')}</div></div>`
  const left =
    recoveryCodes > 2
      ? html`<p>${security.codesLeft(recoveryCodes)}</p>`
      : html`<p class="notice warn">${security.fewCodesLeft(recoveryCodes)}</p>`
  const on = html`<div class="form"><p>${badge('good', security.on)}</p>
${left}
${askedForm({ action: `${root}${CODES_PATH}`, verb: security.renew, isCalm: true, question: security.renewal })}
${askedForm({ action: `${root}${PATH}/codes/off`, verb: security.turnOff, question: security.turningOff })}
</div>`
  return splitCard({
    id: 'codes',
    title: security.codes,
    text: security.codesText,
    content: totp ? on : off,
  })
}

function passkeysCard({ root, now }: Site, texts: Texts, passkeys: readonly Passkey[]): Html {
  const { passkeys: shown, format, buttons, navigation } = texts
  const base = `${root}${PATH}/passkeys`
  const add = html`<a class="button small" href="${base}/new" data-needs-passkeys hidden>${shown.add}</a>`
  return tableCard({
    title: shown.title,
    heads: shown.heads,
    header: add,
    rows: passkeys.map(({ id, name, createdAt, lastUsedAt, backedUp }) => [
      mainCell(shortText(name), backedUp ? shown.synced : shown.onOneDevice, `${base}/${id}`),
      format.dateOf(createdAt),
      lastUsedAt === undefined ? never(texts) : format.ageOf(lastUsedAt, now()),
      html`<div class="actions"><a class="button small" href="${base}/${id}">${buttons.manage}</a></div>`,
    ]),
    actions: navigation.actions,
    empty: emptyState(shown.none, shown.noneText),
    footer: html`<footer class="hint">${shown.footer}</footer>`,
  })
}

function setUpPage(
  { root, apiTitle }: Site,
  { security, buttons, navigation }: Texts,
  { email }: User,
  { problem, values, field }: Form<keyof typeof SET_UP>,
): Page {
  const { secret = '' } = values
  const key = html`<span class="mono key" id="key">${secret.replace(/(.{4})(?=.)/g, '$1 ')}</span>`
  const content = splitCard({
    id: 'app',
    title: security.scan,
    text: security.scanText,
    content: html`<form class="form" method="post" action="${root}${PATH}/codes/on">
${problem}${qrCode(totpUri(secret, apiTitle, email), security.qrCode)}
<div class="actions"><p class="hint">${security.key(key)}</p><button type="button" class="small" data-copy="key" hidden>${buttons.copy}</button></div>
<input type="hidden" name="secret" value="${secret}">
${field('code', { hasFocus: problem !== undefined })}
<div class="actions"><button class="primary">${security.turnOn}</button><a class="button" href="${root}${PATH}">${buttons.cancel}</a></div>
</form>`,
  })
  return { title: security.setUpTitle, content, back: { path: PATH, text: navigation.security } }
}

function recoveryPage({ root, apiTitle }: Site, { security, buttons }: Texts, { email }: User, codes: readonly string[]): Page {
  const text = codes.join('\n')
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`${security.recoveryFile(email, apiTitle)}\n\n${text}\n`)}`
  const content = html`<p class="notice warn" role="status">${security.recoveryNow}</p>
<p>${security.recoveryText(email, apiTitle)}</p>
<pre class="codes" id="recovery" tabindex="0">${text}</pre>
<div class="actions"><button type="button" data-copy="recovery" hidden>${buttons.copy}</button><a class="button" href="${file}" download="recovery-codes.txt">${security.saveFile}</a><button type="button" data-print hidden>${security.print}</button></div>
<p>${security.lastResort}</p>
<form class="form" method="get" action="${root}${PATH}">
<label class="check"><input type="checkbox" required> ${security.saved}</label>
<button class="primary">${buttons.continue}</button>
</form>`
  return { title: security.recovery, content, isLone: true }
}

// The quiet zone of the standard, which cameras need.
const BORDER = 4

/** A QR code as part of a page: nothing is loaded, and no other service learns what it contains. */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: BORDER })
  return html`<svg class="qr" width="${4 * size}" height="${4 * size}" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}"><path d="${data.map(rowPath).join('')}"/></svg>`
}

/** The dark parts of a row, one move and one bar for each. */
function rowPath(row: readonly boolean[], y: number): string {
  const text = row.map((isDark) => (isDark ? '#' : ' ')).join('')
  return [...text.matchAll(/#+/g)].map(({ index, 0: { length } }) => `M${index} ${y}h${length}v1h-${length}z`).join('')
}
