import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Authentication } from '../../../domain/identity/authentication.service.ts'
import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { Login } from '../../../domain/sign-in/login.service.ts'
import type { Providers } from '../../../domain/sign-in/providers.service.ts'
import { parseEmail } from '../../../domain/values/email.ts'
import type { Caller } from '../../../model/caller.ts'
import { IDENTITY, type ProvenIdentity } from '../../../model/provider.ts'
import { Refusal } from '../../../model/refusal.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { Answer } from '../../answers/answers.ts'
import { answerError, wantsHtml } from '../../answers/errors.ts'
import { described, Empty, HtmlView } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { flag, Type, text, timestamp } from '../../validation/schema.ts'
import { CONNECT_PATH, EXISTING_PATH } from '../../web/account/providers.routes.ts'
import type { Cookies } from '../../web/site/cookies.ts'
import { HAND_OFF_QUERY, handOffPath, parseHandOff, productOrigin } from '../../web/site/hand-off.ts'
import { addressMessage } from '../../web/site/page-errors.ts'
import { type Pages, pageErrors } from '../../web/site/pages.ts'
import { secondStepPage } from '../../web/site/second-factor.routes.ts'
import { type Page, sendSitePage } from '../../web/site/shell.ts'
import { areaOf, Next, returnPath, type Site, signInPath, withNext } from '../../web/site/site.ts'
import type { Texts } from '../../web/texts/texts.ts'
import { createApiRoutes } from '../api-routes.ts'

const ProviderName = text('The name of a provider in SIGN_IN_PROVIDERS.', 'google', { maxLength: 40 })
const ProviderPath = Type.Object({ provider: ProviderName })
const BeginQuery = Type.Object({
  return_to: {
    ...HAND_OFF_QUERY.return_to,
    description: 'The page of your product to which the browser returns.',
    examples: ['https://app.example.com/signed-in'],
  },
  code_challenge: {
    ...HAND_OFF_QUERY.code_challenge,
    description: 'The S256 challenge of the code that the product gets.',
    examples: ['E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'],
  },
  state: { ...HAND_OFF_QUERY.state, description: 'Passed on to the product.', examples: ['af0ifjsldkj'] },
  next: { ...Next, description: 'A page of this service to open after the sign-in.', examples: ['/account/keys'] },
  connect: Type.Optional(flag('Whether to connect the account of the provider to the account that is signed in.', false)),
})
/** Providers add further parameters. Whether they belong together, the client of the provider checks. */
const CallbackQuery = Type.Object({
  code: Type.Optional(text('What the provider exchanges for its answer.', 'b3BhcXVl')),
  state: Type.Optional(text('The state of the sign-in.', 'b3BhcXVl')),
  error: Type.Optional(text('Why the provider has not signed in.', 'access_denied')),
})

const IdentityView = Type.Object(
  {
    provider: ProviderName,
    email: text('The address that the provider named when it was connected. It may have changed since.', 'mia@gmail.com'),
    connected_at: timestamp('When it was connected, in UTC.'),
  },
  { title: 'ConnectedProvider', description: 'An account of another provider that opens the account.' },
)

/** Longer than that of other routes: the provider has to answer. */
const DEADLINE_MS = 12_000
const CONNECTION_MS = 10 * 60_000
/** A browser keeps cookies of up to 4096 bytes. A longer address of a product is kept in a cookie that is not encrypted. */
const SEALED_MAX_LENGTH = 2500

/** Sends the response. */
type Send = () => FastifyReply

type Parts = {
  readonly providers: Providers
  readonly login: Login
  readonly authentication: Authentication
  readonly pageLimiter: Limiter
  readonly site: Site
  readonly cookies: Cookies
  readonly pages: Pages
  readonly publicUrl: () => string
  readonly now: () => number
}

/** The account that an identity may be connected to, once its owner has confirmed it. */
type Account = { readonly userId: number; readonly accountEmail: string; readonly isForProduct: boolean }

/** Signing in with other providers. Without SIGN_IN_PROVIDERS, the two paths of the sign-in answer 404. */
export function providerRoutes(app: App, parts: Parts): void {
  const { providers, login, authentication, pageLimiter, site, cookies, publicUrl, now } = parts
  const api = createApiRoutes(app, 'Accounts')
  const isDisabled = site.providers.length === 0
  const redirectUriOf = (name: string) => `${publicUrl()}/login/with/${name}/callback`
  const config = { access: 'public', writes: true, isDisabled, deadlineMs: DEADLINE_MS } as const
  const errorHandler = providerErrors(parts)
  const refused = ['provider_not_found', 'provider_unavailable', 'provider_refused', 429] as const

  /** Counts like signing in on the pages: by what failed. What did not fail is given back before the browser can send its next request. */
  async function limited({ origin }: FastifyRequest, work: () => Promise<Send>): Promise<FastifyReply> {
    const place = await pageLimiter.countAddress('login:ip', origin.ip)
    const send = await pageLimiter.settle([place], origin, work)
    return send()
  }

  api.get('/login/with/:provider', 'loginWithProvider', {
    config,
    exposeHeadRoute: false,
    errorHandler,
    summary: 'Sign in with another provider',
    description:
      'For a browser. Leads to the provider, and from there back to this service, which signs in and leads on: to the account pages, or with ' +
      '`return_to`, `code_challenge` and `state` to your product. A cookie binds the sign-in to this browser.',
    page: true,
    params: ProviderPath,
    querystring: BeginQuery,
    response: { 303: described(HtmlView, 'The sign-in page of the provider.'), refuses: refused },
    handle: (request, reply) =>
      limited(request, async () => {
        const { params, query } = request
        const { connect: connects = false } = query
        const handOff = parseHandOff(site, query)
        const next = returnPath(handOff === undefined ? query.next : handOffPath(handOff), 'account')
        const { url, flow } = await providers.begin(params.provider, redirectUriOf(params.provider), { choosesAccount: connects })
        const fits = next.length <= SEALED_MAX_LENGTH
        if (!fits) cookies.rememberNext(reply, next)
        cookies.flow.set(reply, { ...flow, next: fits ? next : undefined, connects })
        return () => reply.redirect(url.href, 303)
      }),
  })

  api.get('/login/with/:provider/callback', 'providerCallback', {
    config,
    exposeHeadRoute: false,
    errorHandler,
    summary: 'Return from another provider',
    description:
      'The redirect URI that you register at the provider. Works once, in the browser that began the sign-in. Signs in and leads on, asks for ' +
      'the second factor, or says what to do first. An account that exists is never opened because a provider names its address.',
    page: true,
    params: ProviderPath,
    querystring: CallbackQuery,
    response: {
      200: described(HtmlView, 'A page that asks for the second factor, or says that an email was sent.'),
      303: described(HtmlView, 'Where the sign-in was to lead.'),
      refuses: [...refused, 'sign_in_ended', 'provider_without_email', 'provider_taken', 'login_banned', 'login_unverified'],
    },
    handle: (request, reply) => limited(request, () => complete(request, reply, request.params.provider)),
  })

  async function complete(request: FastifyRequest, reply: FastifyReply, name: string): Promise<Send> {
    const { origin } = request
    const flow = cookies.flow.read(request)
    cookies.flow.clear(reply)
    const answer = new URLSearchParams(request.url.split('?')[1] ?? '')
    const identity = await providers.complete(origin, name, flow, redirectUriOf(name), answer)
    const next = flow?.next ?? returnPath(cookies.readNext(request), 'account')
    if (flow?.connects) return connect(request, reply, identity)
    const result = await login.pages.byProvider(origin, identity)
    switch (result.kind) {
      case 'session':
        cookies.setSession(reply, result.session, areaOf(next))
        return leadTo(reply, next)
      case 'second step':
        return show(reply, secondStepPage(site, site.texts.forVisitor(request), areaOf(next), result, next))
      case 'account exists':
        keepConnection(reply, identity, {
          userId: result.userId,
          accountEmail: result.email,
          isForProduct: productOrigin(site, next) !== undefined,
        })
        cookies.rememberNext(reply, next)
        return leadTo(reply, EXISTING_PATH)
      case 'verification sent':
        // The link in the mail may be opened in another tab.
        cookies.rememberNext(reply, next)
        return show(reply, verificationPage(site, site.texts.forVisitor(request), result.email, next))
    }
  }

  /** Leads to the page on which the owner of the session confirms it. */
  async function connect(request: FastifyRequest, reply: FastifyReply, identity: ProvenIdentity): Promise<Send> {
    const caller = await callerOf(request)
    if (caller === undefined) throw new Refusal('sign_in_ended', 'the session has ended since')
    const ownerId = await providers.ownerOf(identity)
    if (ownerId !== undefined && ownerId !== caller.user.id) throw new Refusal('provider_taken')
    if (ownerId !== undefined) return leadTo(reply, '/account/security')
    keepConnection(reply, identity, { userId: caller.user.id, accountEmail: caller.user.email, isForProduct: false })
    return leadTo(reply, CONNECT_PATH)
  }

  async function callerOf(request: FastifyRequest): Promise<Caller | undefined> {
    const token = cookies.readSession(request)
    try {
      return token === undefined ? undefined : await authentication.byPageToken(token)
    } catch (error) {
      if (error instanceof Refusal && error.code !== 'unavailable') return undefined
      throw error
    }
  }

  function keepConnection(reply: FastifyReply, identity: ProvenIdentity, account: Account): void {
    const { provider, issuer, subject } = identity
    const email = parseEmail(identity.email ?? '') ?? ''
    cookies.connection.set(reply, { provider, issuer, subject, email, ...account, expiresAt: now() + CONNECTION_MS })
  }

  function leadTo(reply: FastifyReply, path: string): Send {
    return () => reply.redirect(`${site.root}${path}`, 303)
  }

  function show(reply: FastifyReply, page: Page): Send {
    // The address has the answer of the provider.
    return () => sendSitePage(reply, site, { area: 'account', user: undefined }, { ...page, hasSecretAddress: true })
  }
}

/** The providers that are connected to the account of the caller. */
export function connectedProviderRoutes(app: App, providers: Providers): void {
  const api = createApiRoutes(app, 'Accounts')
  api.get('/users/me/providers', 'listProviders', {
    config: { access: 'user', acceptedKeys: 'read', writes: false },
    summary: 'List your connected providers',
    description: 'The accounts of other providers that you can sign in with, the oldest first.',
    response: { 200: described(Type.Array(IdentityView), 'Your connected providers.') },
    handle: async ({ caller }) => (await providers.list(caller.user.id)).map(IDENTITY.toJson),
  })

  api.delete('/users/me/providers/:provider', 'disconnectProvider', {
    config: { access: 'user', acceptedKeys: 'none', writes: true, needsConfirmation: true },
    summary: 'Disconnect a provider',
    description: 'You can no longer sign in with it. The last way to sign in cannot be taken away.',
    params: ProviderPath,
    response: { 204: Empty, refuses: ['provider_not_found', 'only_way_in', 'confirmation_required', 'user_not_found'] },
    handle: ({ actor, params }) => providers.disconnect(actor, params.provider),
  })
}

function verificationPage({ root }: Site, { register, buttons, signIn }: Texts, email: string, next: string): Page {
  const content: Html = html`<p class="notice good" role="status">${register.done}</p>
<p>${register.mailSentSignInAgain(email)}</p>
<div class="actions"><a class="button primary" href="${root}${signInPath('account', next)}">${buttons.signIn}</a><a class="button" href="${root}${withNext('account', '/resend-verification', next)}">${buttons.noEmail}</a></div>`
  return { title: signIn.checkMail, content, isLone: true }
}

type ProviderTexts = Texts['links']['provider']
const TITLES: Readonly<Record<string, keyof ProviderTexts>> = {
  provider_unavailable: 'unreachable',
  provider_not_found: 'unknown',
  sign_in_ended: 'ended',
  login_banned: 'banned',
  login_unverified: 'unverified',
}
const ADVICE: Readonly<Record<string, keyof ProviderTexts>> = {
  invalid_request: 'invalidAdvice',
  login_banned: 'bannedAdvice',
  login_unverified: 'unverifiedAdvice',
  provider_taken: 'takenAdvice',
}

/** A refusal of the sign-in is a page that says what happened and what to do. */
function providerErrors({ pages }: Pick<Parts, 'pages'>) {
  const render = (texts: Texts, answer: Answer, request: FastifyRequest): Html => {
    const { provider } = texts.links
    return pages.problem(texts, {
      title: answer.code === 'invalid_request' ? texts.errors.invalid : provider[TITLES[answer.code] ?? 'title'],
      message: addressMessage(texts, answer, request),
      advice: provider[ADVICE[answer.code] ?? 'advice'],
      helpPage: answer.code === 'login_unverified' ? 'resend-verification' : 'sign-in',
    })
  }
  const others = pageErrors(pages, wantsHtml, render)
  return (error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const isOutage = error instanceof Refusal && error.code === 'provider_unavailable'
    if (!isOutage || !wantsHtml(request)) return others(error, request, reply)
    const answer = answerError(error, request)
    return pages.send(reply.headers(answer.headers), answer.status, render(pages.textsOf(request), answer, request))
  }
}
