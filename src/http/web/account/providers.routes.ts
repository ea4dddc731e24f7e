import type { Identity, Provider } from '../../../model/provider.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import type { Connection } from '../site/cookies.ts'
import { askedForm, emptyState, mainCell, tableCard } from '../site/elements/cards.ts'
import { providerName } from '../site/elements/providers.ts'
import { productOrigin } from '../site/hand-off.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'
import { returnPath, type Site } from '../site/site.ts'
import type { Texts } from '../texts/texts.ts'

const SECURITY_PATH = '/account/security'
/** Asks to sign in to the account that has the address. */
export const EXISTING_PATH = '/account/connect'
/** Asks the owner of an account to connect it. */
export const CONNECT_PATH = '/account/connect/confirm'
const Params = { provider: Type.String({ maxLength: 40 }) }
const ENDED = { to: SECURITY_PATH, notice: 'connection-ended' } as const

/** The accounts of other providers. An account is connected here only: by its owner, with a session that was confirmed lately. */
export function accountProvidersRoutes({ get, post, action }: PageRoutes, { site, cookies, providers }: PageParts): void {
  get('/connect', {
    access: 'public',
    handle({ request, texts }) {
      const connection = cookies.connection.read(request)
      return connection === undefined ? { ...ENDED, to: '/account/sign-in' } : existingPage(site, texts, connection)
    },
  })

  get('/connect/confirm', {
    handle({ request, actor, texts }) {
      const connection = cookies.connection.read(request)
      if (connection === undefined) return ENDED
      const page = connectPage(site, texts, connection, actor.caller.user.id)
      return { ...page, formOrigin: productOrigin(site, cookies.readNext(request)) }
    },
  })

  post('/connect/confirm', {
    asksForPassword: { to: ({ purposes }) => purposes.connect, cancel: SECURITY_PATH },
    async handle({ request, actor, texts }, reply) {
      const connection = cookies.connection.read(request)
      if (connection === undefined) return ENDED
      if (connection.userId !== actor.caller.user.id) return connectPage(site, texts, connection, actor.caller.user.id)
      const { provider, issuer, subject, email } = connection
      await providers.connect(actor, { provider, issuer, subject, email })
      cookies.connection.clear(reply)
      // A product may wait for somebody who had to connect first.
      const next = connection.isForProduct ? cookies.readNext(request) : undefined
      return next === undefined ? { to: SECURITY_PATH, notice: 'provider-connected' } : { to: returnPath(next, 'account') }
    },
  })

  action('/security/providers/:provider/disconnect', {
    asksForPassword: { to: ({ purposes }) => purposes.disconnect, cancel: SECURITY_PATH },
    params: Params,
    change: ({ actor, params }) => providers.disconnect(actor, params.provider),
    to: SECURITY_PATH,
    notice: 'provider-disconnected',
  })
}

/** The name of a provider as people know it. One that the settings no longer name has its short name only. */
function labelOf({ providers }: Site, name: string): string {
  return providers.find((provider) => provider.name === name)?.label ?? name
}

function existingPage(site: Site, { providers, buttons }: Texts, { provider, accountEmail }: Connection): Page {
  const { root } = site
  const label = labelOf(site, provider)
  const content = html`<p>${providers.existingText(accountEmail, label)}</p>
<p>${providers.existingAdvice(label)}</p>
<p class="actions"><a class="button primary" href="${root}${CONNECT_PATH}">${providers.signInAndConnect}</a></p>
<p class="ways"><a href="${root}/account/forgot-password">${buttons.forgotPassword}</a><a href="${root}/account/sign-in">${buttons.signInAnotherWay}</a></p>`
  return { title: providers.existing, content, isLone: true }
}

function connectPage(site: Site, { providers, buttons }: Texts, connection: Connection, callerId: number): Page {
  const { root } = site
  const label = labelOf(site, connection.provider)
  const { accountEmail, email } = connection
  if (connection.userId !== callerId) {
    const other = html`<p class="notice bad" role="alert">${providers.other(accountEmail, label)}</p>
<p>${providers.otherAdvice(accountEmail)}</p>
<div class="actions"><form method="post" action="${root}/account/sign-out"><button class="primary">${buttons.signOut}</button></form><a class="button" href="${root}/account/">${buttons.cancel}</a></div>`
    return { title: providers.otherTitle(label), content: other, isLone: true }
  }
  const content = html`<p>${providers.warning(label)}</p>
<dl class="facts"><dt>${label}</dt><dd>${email === '' ? providers.withoutAddress : email}</dd><dt>${providers.yourAccount}</dt><dd>${accountEmail}</dd></dl>
<form class="form" method="post" action="${root}${CONNECT_PATH}">
<div class="actions"><button class="primary">${providers.connect}</button><a class="button" href="${root}${SECURITY_PATH}">${buttons.cancel}</a></div>
</form>`
  return { title: providers.question(label), content, isLone: true }
}

/** The providers of the settings, and those that are connected. */
export function providersCard(site: Site, texts: Texts, connected: readonly Identity[]): Html | undefined {
  const { root, providers } = site
  const { providers: shown, format, navigation } = texts
  const names = new Set([...providers.map(({ name }) => name), ...connected.map(({ provider }) => provider)])
  if (names.size === 0) return undefined
  const rows = [...names].map((name) => {
    const provider: Provider = { name, label: labelOf(site, name) }
    const identity = connected.find((one) => one.provider === name)
    return [
      html`<span class="provider">${providerName(provider)}</span>`,
      identity === undefined ? '' : mainCell(identity.email || shown.connected, shown.since(format.dateOf(identity.connectedAt))),
      html`<div class="actions">${identity === undefined ? connectLink(shown, root, name) : disconnectForm(shown, root, provider)}</div>`,
    ]
  })
  return tableCard({
    title: shown.title,
    heads: shown.heads,
    rows,
    actions: navigation.actions,
    empty: emptyState(shown.none, ''),
    footer: html`<footer class="hint">${shown.footer}</footer>`,
  })
}

function connectLink({ connect }: Texts['providers'], root: string, name: string): Html {
  return html`<a class="button small" href="${root}/login/with/${name}?connect=true">${connect}</a>`
}

function disconnectForm({ disconnect, disconnecting }: Texts['providers'], root: string, { name, label }: Provider): Html {
  return askedForm({
    action: `${root}${SECURITY_PATH}/providers/${name}/disconnect`,
    verb: disconnect,
    question: disconnecting(label),
  })
}
