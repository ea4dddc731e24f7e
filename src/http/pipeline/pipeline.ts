import type { FastifyInstance, RouteOptions } from 'fastify'
import type { Authentication } from '../../domain/identity/authentication.service.ts'
import type { SecondFactorRule } from '../../domain/identity/requirements.ts'
import type { Limiter } from '../../domain/limits/rate-limits.service.ts'
import type { Blocklist } from '../../security/blocklist.ts'
import { isSameToken } from '../../security/start-token.ts'
import { once } from '../../shared/lazily.ts'
import { installErrorAnswers, sendNotFound } from '../answers/errors.ts'
import { createGuards, limitKeys, requireConfirmation, requireFactorOn, requireSameOrigin } from './access.ts'
import { isLimited, timed, withDeadline } from './deadline.ts'
import { acceptedMethods, type Declared, type Hook, type PageSteps, present, readsOnly, requireDeclarations } from './declarations.ts'
import { createPaths, type DeclaredPaths } from './declared-paths.ts'
import { answerPreflight, isPreflight, type SetHeaders, withoutCors } from './headers.ts'
import { checkBody, checkQuery, decorateBody, ignoreBody, ignoreContentType, refuseListedPasswords, takesBody } from './input.ts'
import { createLimitSteps } from './limits.ts'
import { decorateOrigin, noteArrival } from './origin.ts'
import { isLocalClient, refuseAliases, refuseMethod, refuseUnmatched } from './reachability.ts'
import type { RequestMetrics } from './request-metrics.ts'

export type PipelineOptions = {
  readonly authentication: Authentication
  /** The deadline of a request. */
  readonly answerWithinMs?: number | undefined
  /** The limits of the settings. */
  readonly limiter?: Limiter | undefined
  /** The limits of the sign-in pages, which are always on. */
  readonly pageLimiter?: Limiter | undefined
  readonly pageSteps?: PageSteps | undefined
  /** Passwords that nobody may choose. */
  readonly blocklist?: Blocklist | undefined
  /** Who needs a second factor. */
  readonly secondFactorRule?: SecondFactorRule
  readonly now?: () => number
}

type PipelineParts = PipelineOptions & {
  readonly setHeaders: SetHeaders
  readonly metrics: RequestMetrics | undefined
  /** Notices requests whose client address the settings ignore. */
  readonly noticeProxy: Hook | undefined
}

/** The routes as they are added, and the paths once all are. */
type Pipeline = { readonly routes: readonly Declared[]; readonly paths: () => DeclaredPaths }

/**
 * The steps of a request, from top to bottom in the order of execution. Before them, server.ts applies the limits of the server
 * (400, 408, 417, 431) and the router looks for a route.
 */
export function installPipeline(app: FastifyInstance, parts: PipelineParts): Pipeline {
  const routes: Declared[] = []
  const paths = once(() => createPaths(routes))
  decorateOrigin(app)
  decorateBody(app)
  app.decorateRequest('guardedMs', 0)
  app.decorateRequest('places')

  // 1. Headers and CORS, then a path that does not exist (404) or does not accept the method (405). One hook for all, because each hook
  // costs every request.
  app.addHook('onRequest', (request, reply, done) => {
    parts.setHeaders(request, reply)
    const isAsked = isPreflight(request) && !request.routeOptions.config?.isLocal
    const path = request.is404 ? paths().find(request.raw.url ?? '') : undefined
    if (request.is404 && !(isAsked && path)) parts.metrics?.countUnmatched(request, reply)
    if (isAsked) answerPreflight(reply)
    else if (request.is404) refuseUnmatched(path, request, reply)
    else done()
  })

  // 2. The steps of the route. This is the only hook that builds them.
  const buildSteps = createSteps(parts)
  app.addHook('onRoute', (route) => {
    const declared = requireDeclarations(route)
    Object.assign(route, buildSteps(declared), { method: acceptedMethods(declared) })
    if (declared.config.allow === undefined) routes.push(declared)
  })

  // 3. An error at any step becomes an answer.
  installErrorAnswers(app)
  return { routes, paths }
}

/** Builds the steps of a route from its declarations. */
function createSteps(parts: PipelineParts) {
  const { authentication, metrics, answerWithinMs, limiter, pageLimiter, pageSteps, blocklist, noticeProxy } = parts
  const { secondFactorRule = 'optional', now = Date.now } = parts
  const { identify, identifyByCookie, permissions } = createGuards(authentication, pageSteps?.readCookie)
  const sameOrigin = requireSameOrigin({ isSecure: pageSteps?.isSecure ?? true })
  const limitsOf = createLimitSteps(limiter, pageLimiter)

  /** By token or API key, or by the cookie of a page. The time that it takes to identify the caller counts for the deadline. */
  function accessOf(route: Declared, { hasDeadline }: { readonly hasDeadline: boolean }): readonly (Hook | undefined)[] {
    const { access, page } = route.config
    if (access === 'public') return []
    const identifyCaller = page === undefined ? identify : identifyByCookie
    const steps = [hasDeadline ? timed(identifyCaller) : identifyCaller, permissions[access]]
    const factor = requireFactorOn(route, secondFactorRule)
    if (page !== undefined) return [...steps, factor]
    const confirmation = route.config.needsConfirmation ? requireConfirmation(now) : undefined
    return [...steps, limitKeys(route), factor, confirmation]
  }

  return (route: Declared): Partial<RouteOptions> => {
    const { writes, page, asksForPassword } = route.config
    const isPage = page !== undefined
    // Fastify reads no body of GET and HEAD, whatever the client sends.
    const ignoresBody = !takesBody(route) && !readsOnly(route)
    const { byAddress, byAccount } = limitsOf(route)
    const hasDeadline = isLimited(route, { hasOtherStatements: byAddress !== undefined })
    return {
      onRequest: present<Hook>(
        // Metrics: the count begins here and ends with the response.
        metrics?.stepFor(route),
        // A path that does not exist for this client (404), or a method that it does not accept (405).
        ...reachability(route, byAddress),
        // Cancellation: the origin of a write, and the signal that stops it.
        writes && noteArrival,
        writes && noticeProxy,
        // A form of a page that another site has sent (403).
        isPage && !readsOnly(route) && sameOrigin,
        // The limit of the client's network (429).
        byAddress,
        // Who is calling (401), and what they may do (403).
        ...accessOf(route, { hasDeadline }),
        ignoresBody && ignoreContentType,
      ),
      // Fastify reads the body here (413).
      preValidation: present<Hook>(
        // The path, then the syntax of the body (422).
        takesBody(route) && checkBody(route),
        ignoresBody && ignoreBody,
        // The query of a route that declares none (422).
        !route.schema.querystring && checkQuery,
      ),
      // Fastify validates the path, the body and the query with the parsers of their schemas here (422).
      preHandler: present<Hook>(
        // The limit of the account (429).
        byAccount,
        // A page that asks for the password again (403).
        isPage && typeof asksForPassword === 'object' && pageSteps?.requireRecentPassword,
        // A new password that is on a list of breached ones (422).
        refuseListedPasswords(blocklist, route),
      ),
      handler: hasDeadline ? withDeadline(route.handler, route.config.deadlineMs ?? answerWithinMs) : route.handler,
    }
  }
}

function reachability({ url, config }: Declared, count: Hook | undefined): Hook[] {
  const { isLocal, queryToken, hasOneAddress, allow, isDisabled } = config
  return present<Hook>(
    isLocal && refuseOthers,
    queryToken !== undefined && refuseWithoutToken(queryToken, count),
    hasOneAddress && refuseAliases(url),
    allow !== undefined && refuseMethod(allow),
    isDisabled && refuseDisabled,
  )
}

const refuseDisabled: Hook = (request, reply) => void sendNotFound(request, reply)

const refuseOthers: Hook = (request, reply, done) => {
  withoutCors(reply)
  if (isLocalClient(request)) done()
  else sendNotFound(request, reply)
}

/** A wrong token counts. The response does not depend on the count, so that it says nothing about the path. */
function refuseWithoutToken(token: string, count: Hook | undefined): Hook {
  return (request, reply, done) => {
    const { token: given } = request.query as Readonly<Record<string, unknown>>
    if (typeof given === 'string' && isSameToken(given, token)) return done()
    const counted = Promise.try(async () => count?.(request, reply, done))
    void counted.catch(() => undefined).then(() => void sendNotFound(request, reply))
  }
}
