import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Factors, Passkey } from '../../../model/factor.ts'
import type { User } from '../../../model/user.ts'
import { totpUri } from '../../../security/totp.ts'
import { type Html, html } from '../../../shared/html.ts'
import { counted } from '../../../shared/text.ts'
import { Type } from '../../validation/schema.ts'
import { askedForm, badge, emptyState, mainCell, NEVER, splitCard, tableCard } from '../site/elements/cards.ts'
import { CODE } from '../site/elements/factors.ts'
import { actionForm, type Form, formOf } from '../site/elements/fields.ts'
import { ageOf, dateOf, shortText } from '../site/elements/format.ts'
import { qrCode } from '../site/elements/qr-code.ts'
import { productOrigin } from '../site/hand-off.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Redirect } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import { returnPath, type Site } from '../site/site.ts'
import { providersCard } from './providers.routes.ts'

const PATH = '/account/security'
const CODES_PATH = `${PATH}/recovery-codes`
const SET_UP = {
  secret: { schema: Type.String({ maxLength: 32 }) },
  code: { ...CODE, inputMode: 'numeric', hint: 'The six digits that the app shows now.' },
} as const
/** What the sealed cookie with new recovery codes is for. */
const COOKIE = 'recovery-codes'
const LAST_RESORT = 'Without your phone, these codes and a passkey, only an admin of this service can let you in again. No email can.'

/** What an account has besides its password: codes from an app, recovery codes and passkeys. */
export function accountSecurityRoutes({ get, post }: PageRoutes, { site, cookies, secondFactor, passkeys, providers }: PageParts): void {
  // Where a second factor is required, nobody could set one up otherwise.
  const open = { worksWithoutFactor: 'setup' } as const
  const asks = (to: string) => ({ asksForPassword: { to, cancel: PATH } })

  get('/security', {
    ...open,
    async handle({ actor, request }) {
      const { user, hasFactor } = actor.caller
      const next = hasFactor ? cookies.readNext(request) : undefined
      const page = securityPage(site, await secondFactor.status(user.id), await passkeys?.list(user.id), next)
      return { ...page, content: html`${page.content}\n${providersCard(site, await providers.list(user.id))}` }
    },
  })

  post('/security/codes', {
    ...open,
    ...asks('set up codes from an app'),
    handle: async ({ actor }) => setUpPage(site, actor.caller.user, formOf(SET_UP, { secret: (await secondFactor.begin(actor)).secret })),
  })

  post('/security/codes/on', {
    ...open,
    ...asks('turn codes from an app on'),
    fields: SET_UP,
    retry: (form, { caller }) => setUpPage(site, caller.user, form),
    async handle({ body, actor, request }, reply) {
      return showOnce(request, reply, await secondFactor.confirm(actor, (body.code ?? '').replaceAll(' ', '')))
    },
  })

  post('/security/codes/off', {
    ...open,
    ...asks('turn codes from an app off'),
    async handle({ actor }) {
      await secondFactor.remove(actor)
      return { to: PATH, notice: 'codes-off' }
    },
  })

  post('/security/recovery-codes', {
    ...open,
    ...asks('get new recovery codes'),
    async handle({ actor, request }, reply) {
      return showOnce(request, reply, await secondFactor.renewRecoveryCodes(actor))
    },
  })

  get('/security/recovery-codes', {
    ...open,
    handle({ request, actor }, reply) {
      const codes = cookies.takeSecret(request, reply, COOKIE)
      return codes === undefined ? { to: PATH } : recoveryPage(site, actor.caller.user, codes.split(','))
    },
  })

  /** Leads to the page with the codes, so that a reload repeats nothing. They travel in a sealed cookie. */
  function showOnce(request: FastifyRequest, reply: FastifyReply, codes: readonly string[]): Redirect {
    cookies.setSecret(request, reply, COOKIE, codes.join(','))
    return { to: CODES_PATH }
  }
}

function securityPage(site: Site, factors: Factors, passkeys: readonly Passkey[] | undefined, next: string | undefined): Page {
  const origin = productOrigin(site, next)
  const actions =
    origin && html`<a class="button primary" href="${site.root}${returnPath(next, 'account')}">Continue to ${new URL(origin).host}</a>`
  return {
    title: 'Security',
    actions: actions || undefined,
    content: html`${codesCard(site, factors)}\n${passkeys && passkeysCard(site, passkeys)}`,
  }
}

function codesCard({ root }: Site, { totp, recoveryCodes }: Factors): Html {
  const off = html`<div class="form"><p>${badge('', 'Off')}</p>
<div class="actions">${actionForm(`${root}${PATH}/codes`, 'Set up codes', 'primary')}</div></div>`
  const left =
    recoveryCodes > 2
      ? html`<p>${counted(recoveryCodes, 'recovery code')} left. Each signs you in once if you do not have your phone.</p>`
      : html`<p class="notice warn">${counted(recoveryCodes, 'recovery code')} left. Get new ones: without your phone and without recovery codes, only an admin of this service can let you in again.</p>`
  const on = html`<div class="form"><p>${badge('good', 'On')}</p>
${left}
${askedForm({ action: `${root}${CODES_PATH}`, verb: 'Get new recovery codes', isCalm: true, question: html`Get new recovery codes? The old ones stop working.` })}
${askedForm({ action: `${root}${PATH}/codes/off`, verb: 'Turn off', question: html`Turn <strong>codes from an app</strong> off? Your recovery codes stop working too, and your password alone signs you in.` })}
</div>`
  return splitCard({
    id: 'codes',
    title: 'Codes from an app',
    text: 'After your password, signing in asks for a code that an app on your phone shows. Your password alone is then of no use to anybody else. For a day without your phone, you get recovery codes.',
    content: totp ? on : off,
  })
}

function passkeysCard({ root, now }: Site, passkeys: readonly Passkey[]): Html {
  const base = `${root}${PATH}/passkeys`
  const add = html`<a class="button small" href="${base}/new" data-needs-passkeys hidden>Add a passkey</a>`
  return tableCard({
    title: 'Passkeys',
    heads: ['Passkey', 'Added', 'Last used'],
    header: add,
    rows: passkeys.map(({ id, name, createdAt, lastUsedAt, backedUp }) => [
      mainCell(shortText(name), backedUp ? 'Synced between devices' : 'On one device', `${base}/${id}`),
      dateOf(createdAt),
      lastUsedAt === undefined ? NEVER : ageOf(lastUsedAt, now()),
      html`<div class="actions"><a class="button small" href="${base}/${id}">Manage</a></div>`,
    ]),
    hasActions: true,
    empty: emptyState('No passkeys', 'A passkey signs you in with the screen lock of your phone or computer, without a password.'),
    footer: html`<footer class="hint">A passkey signs you in alone. Your password works as before, and does not ask for a passkey.</footer>`,
  })
}

function setUpPage({ root, apiTitle }: Site, { email }: User, { problem, values, field }: Form<keyof typeof SET_UP>): Page {
  const { secret = '' } = values
  const content = splitCard({
    id: 'app',
    title: 'Scan the QR code',
    text: 'Open an authenticator app on your phone and scan the QR code, or type the key into the app. Then enter the code that the app shows. Nothing changes before that. The QR code works for 15 minutes.',
    content: html`<form class="form" method="post" action="${root}${PATH}/codes/on">
${problem}${qrCode(totpUri(secret, apiTitle, email), 'QR code for the app')}
<div class="actions"><p class="hint">Key: <span class="mono key" id="key">${secret.replace(/(.{4})(?=.)/g, '$1 ')}</span></p><button type="button" class="small" data-copy="key" hidden>Copy</button></div>
<input type="hidden" name="secret" value="${secret}">
${field('code', { hasFocus: problem !== undefined })}
<div class="actions"><button class="primary">Turn on</button><a class="button" href="${root}${PATH}">Cancel</a></div>
</form>`,
  })
  return { title: 'Set up codes from an app', content, back: { path: PATH, text: 'Security' } }
}

function recoveryPage({ root, apiTitle }: Site, { email }: User, codes: readonly string[]): Page {
  const text = codes.join('\n')
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`Recovery codes of ${email} for ${apiTitle}\n\n${text}\n`)}`
  const content = html`<p class="notice warn" role="status">Save these codes now. They are shown only once.</p>
<p>Each code signs <strong>${email}</strong> in to ${apiTitle} once, in place of a code from the app.</p>
<pre class="codes" id="recovery" tabindex="0">${text}</pre>
<div class="actions"><button type="button" data-copy="recovery" hidden>Copy</button><a class="button" href="${file}" download="recovery-codes.txt">Save as a file</a><button type="button" data-print hidden>Print</button></div>
<p>${LAST_RESORT}</p>
<form class="form" method="get" action="${root}${PATH}">
<label class="check"><input type="checkbox" required> I have saved these codes</label>
<button class="primary">Continue</button>
</form>`
  return { title: 'Your recovery codes', content, isLone: true }
}
