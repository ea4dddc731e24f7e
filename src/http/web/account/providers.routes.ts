import type { Identity, Provider } from '../../../model/provider.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import type { Connection } from '../site/cookies.ts'
import { askedForm, emptyState, mainCell, tableCard } from '../site/elements/cards.ts'
import { dateOf } from '../site/elements/format.ts'
import { providerName } from '../site/elements/providers.ts'
import { productOrigin } from '../site/hand-off.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'
import { returnPath, type Site } from '../site/site.ts'

const SECURITY_PATH = '/account/security'
/** Asks to sign in to the account that has the address. */
export const EXISTING_PATH = '/account/connect'
/** Asks the owner of an account to connect it. */
export const CONNECT_PATH = '/account/connect/confirm'
const Params = { provider: Type.String({ maxLength: 40 }) }
const ENDED = { to: SECURITY_PATH, notice: 'connection-ended' } as const

/** The accounts of other providers. An account is connected here only: by its owner, with a session that was confirmed lately. */
export function accountProvidersRoutes({ get, post }: PageRoutes, { site, cookies, providers }: PageParts): void {
  get('/connect', {
    access: 'public',
    handle({ request }) {
      const connection = cookies.connection.read(request)
      return connection === undefined ? { ...ENDED, to: '/account/sign-in' } : existingPage(site, connection)
    },
  })

  get('/connect/confirm', {
    handle({ request, actor }) {
      const connection = cookies.connection.read(request)
      if (connection === undefined) return ENDED
      const page = connectPage(site, connection, actor.caller.user.id)
      return { ...page, formOrigin: productOrigin(site, cookies.readNext(request)) }
    },
  })

  post('/connect/confirm', {
    asksForPassword: { to: 'connect this account', cancel: SECURITY_PATH },
    async handle({ request, actor }, reply) {
      const connection = cookies.connection.read(request)
      if (connection === undefined) return ENDED
      if (connection.userId !== actor.caller.user.id) return connectPage(site, connection, actor.caller.user.id)
      const { provider, issuer, subject, email } = connection
      await providers.connect(actor, { provider, issuer, subject, email })
      cookies.connection.clear(reply)
      // A product may wait for somebody who had to connect first.
      const next = connection.isForProduct ? cookies.readNext(request) : undefined
      return next === undefined ? { to: SECURITY_PATH, notice: 'provider-connected' } : { to: returnPath(next, 'account') }
    },
  })

  post('/security/providers/:provider/disconnect', {
    asksForPassword: { to: 'disconnect this account', cancel: SECURITY_PATH },
    params: Params,
    async handle({ actor, params }) {
      await providers.disconnect(actor, params.provider)
      return { to: SECURITY_PATH, notice: 'provider-disconnected' }
    },
  })
}

/** The name of a provider as people know it. One that the settings no longer name has its short name only. */
function labelOf({ providers }: Site, name: string): string {
  return providers.find((provider) => provider.name === name)?.label ?? name
}

function existingPage(site: Site, { provider, accountEmail }: Connection): Page {
  const { root } = site
  const label = labelOf(site, provider)
  const content = html`<p>There is already an account with the address <strong>${accountEmail}</strong>. ${label} is not connected to it yet.</p>
<p>If it is yours, sign in to it once the way you usually do. Then connect ${label}, and sign in with it from then on.</p>
<p class="actions"><a class="button primary" href="${root}${CONNECT_PATH}">Sign in and connect</a></p>
<p class="ways"><a href="${root}/account/forgot-password">Forgot your password?</a><a href="${root}/account/sign-in">Sign in another way</a></p>`
  return { title: 'You already have an account', content, isLone: true }
}

function connectPage(site: Site, connection: Connection, callerId: number): Page {
  const { root } = site
  const label = labelOf(site, connection.provider)
  const { accountEmail, email } = connection
  if (connection.userId !== callerId) {
    const other = html`<p class="notice bad" role="alert">You are signed in to another account. ${label} can be connected to ${accountEmail} only by its owner.</p>
<p>Sign out, then sign in as ${accountEmail}.</p>
<div class="actions"><form method="post" action="${root}/account/sign-out"><button class="primary">Sign out</button></form><a class="button" href="${root}/account/">Cancel</a></div>`
    return { title: `Connect ${label}`, content: other, isLone: true }
  }
  const content = html`<p>Whoever can sign in to this ${label} account will be able to sign in to your account here.</p>
<dl class="facts"><dt>${label}</dt><dd>${email === '' ? 'an account without an address' : email}</dd><dt>Your account</dt><dd>${accountEmail}</dd></dl>
<form class="form" method="post" action="${root}${CONNECT_PATH}">
<div class="actions"><button class="primary">Connect</button><a class="button" href="${root}${SECURITY_PATH}">Cancel</a></div>
</form>`
  return { title: `Connect ${label}?`, content, isLone: true }
}

/** The providers of the settings, and those that are connected. */
export function providersCard(site: Site, connected: readonly Identity[]): Html | undefined {
  const { root, providers } = site
  const names = new Set([...providers.map(({ name }) => name), ...connected.map(({ provider }) => provider)])
  if (names.size === 0) return undefined
  const rows = [...names].map((name) => {
    const provider: Provider = { name, label: labelOf(site, name) }
    const identity = connected.find((one) => one.provider === name)
    return [
      html`<span class="provider">${providerName(provider)}</span>`,
      identity === undefined ? '' : mainCell(identity.email || 'Connected', html`Since ${dateOf(identity.connectedAt)}`),
      html`<div class="actions">${identity === undefined ? connectLink(root, name) : disconnectForm(root, provider)}</div>`,
    ]
  })
  return tableCard({
    title: 'Other providers',
    heads: ['Provider', 'Account'],
    rows,
    hasActions: true,
    empty: emptyState('No providers', ''),
    footer: html`<footer class="hint">You can sign in with every connected account. Codes from an app are asked for as after your password.</footer>`,
  })
}

function connectLink(root: string, name: string): Html {
  return html`<a class="button small" href="${root}/login/with/${name}?connect=true">Connect</a>`
}

function disconnectForm(root: string, { name, label }: Provider): Html {
  return askedForm({
    action: `${root}${SECURITY_PATH}/providers/${name}/disconnect`,
    verb: 'Disconnect',
    question: html`Disconnect <strong>${label}</strong>? You can no longer sign in with it.`,
  })
}
