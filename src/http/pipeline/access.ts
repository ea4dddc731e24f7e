import type { FastifyRequest } from 'fastify'
import { isConfirmed } from '../../domain/changes/callers.ts'
import type { Authentication } from '../../domain/identity/authentication.service.ts'
import { requireFactor, type SecondFactorRule } from '../../domain/identity/requirements.ts'
import type { KeyAccess } from '../../model/api-key.ts'
import type { Caller } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { type Access, type AsyncStep, acceptedKeysOf, type Declared, type Hook } from './declarations.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every route that is not public. */
    caller: Caller
  }
}

type Guards = {
  /** Identifies the caller from the credentials, or refuses the request (401). */
  readonly identify: AsyncStep
  /** The same for a page: from its cookie alone. */
  readonly identifyByCookie: AsyncStep
  /** Refuses a caller without permission for the route (403). A route that is open to every user needs no check. */
  readonly permissions: Readonly<Record<Access, Hook | undefined>>
}

const BEARER = /^bearer(?:\s+(.*))?$/i

/** Reads the token in the cookie of a request. */
type ReadCookie = (request: FastifyRequest) => string | undefined

export function createGuards(authentication: Authentication, readCookie: ReadCookie = () => undefined): Guards {
  function authenticate({ headers }: FastifyRequest): Promise<Caller> {
    const { authorization } = headers
    // The usual form, without a regular expression: this is the hot path.
    if (authorization?.startsWith('Bearer ey')) return authentication.byToken(authorization.slice(7))
    // A bearer header always decides, even an empty or broken one (spec 5 rule 2).
    const bearer = authorization === undefined ? null : BEARER.exec(authorization)
    if (bearer) return authentication.byToken(bearer[1] ?? '')
    const key = headers['x-api-key']
    if (typeof key === 'string') return authentication.byKey(key)
    throw new Refusal('not_authenticated')
  }

  return {
    identify: async (request) => {
      request.caller = await authenticate(request)
    },
    identifyByCookie: async (request) => {
      const token = readCookie(request)
      if (token === undefined) throw new Refusal('not_authenticated')
      request.caller = await authentication.byPageToken(token)
    },
    permissions: {
      public: undefined,
      user: undefined,
      self: permit((request) => request.caller.user.role === 'admin' || namesCaller(request)),
      admin: permit(({ caller }) => caller.user.role === 'admin'),
    },
  }
}

/** Refuses a session that was neither opened nor confirmed lately (403). */
export function requireConfirmation(now: () => number): Hook {
  return ({ caller }, _reply, done) => {
    done(isConfirmed(caller, now()) ? undefined : new Refusal('confirmation_required'))
  }
}

/** Refuses a caller without a second factor where the settings require one (403); undefined where they do not. */
export function requireFactorOn({ config }: Declared, rule: SecondFactorRule): Hook | undefined {
  const { access, worksWithoutFactor } = config
  const guardsRole = config.guardsRole === true || worksWithoutFactor === 'setup'
  if (rule === 'optional' || worksWithoutFactor === true || (rule === 'admins' && access === 'user' && !guardsRole)) return undefined
  return (request, _reply, done) => {
    const { caller } = request
    // Setting up works without a factor only where there is none: an account that has one is confirmed with it.
    const isSetup = worksWithoutFactor === 'setup' && !caller.hasFactor
    const guarded = guardsRole && caller.hasFactor && caller.user.role === 'admin'
    const asAdmin = access === 'admin' || (access === 'self' && !namesCaller(request)) || guarded
    if (!isSetup) requireFactor(rule, caller, { asAdmin })
    done()
  }
}

const ACCEPTED: Readonly<Record<KeyAccess | 'none', readonly KeyAccess[]>> = {
  full: ['full'],
  read: ['full', 'read'],
  identify: ['full', 'identify'],
  none: [],
}

/** Refuses an API key that the route does not accept (403). Sessions are not restricted. */
export function limitKeys(route: Declared): Hook | undefined {
  const acceptedKeys = acceptedKeysOf(route) ?? 'full'
  if (acceptedKeys === 'any') return undefined
  if (!(403 in route.schema.response)) throw new Error(`${route.method} ${route.url} refuses some API keys, but does not declare 403`)
  return permit(({ caller }) => caller.key === undefined || ACCEPTED[acceptedKeys].includes(caller.key.access))
}

/**
 * Refuses a request that another site caused (403): a browser adds its cookies to it. Browsers say where a request comes from; older ones,
 * and all of them without TLS, send an Origin, which has to be this host. A page without an origin sends `null`. Whoever controls the
 * network can send a page as http://host, so that this is another site for a service with https.
 */
export function requireSameOrigin({ isSecure }: { readonly isSecure: boolean }): Hook {
  const schemes = isSecure ? ['https'] : ['https', 'http']
  return ({ headers }, _reply, done) => {
    const { host = '', origin, 'sec-fetch-site': site } = headers
    const isOwn = host !== '' && schemes.some((scheme) => origin === `${scheme}://${host.toLowerCase()}`)
    if (site === undefined ? isOwn : site === 'same-origin') done()
    else done(new Refusal('not_permitted', 'the request comes from another site'))
  }
}

function permit(isPermitted: (request: FastifyRequest) => boolean): Hook {
  return (request, _reply, done) => (isPermitted(request) ? done() : done(new Refusal('not_permitted')))
}

function namesCaller({ params, caller }: FastifyRequest): boolean {
  const { user_id } = params as { user_id?: string }
  return user_id !== undefined && /^\d+$/.test(user_id) && Number(user_id) === caller.user.id
}
