import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type {
  FastifyBaseLogger,
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteOptions,
} from 'fastify'
import type { KeyAccess } from '../../model/api-key.ts'

/** A Fastify instance that infers the types of a request from its schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

/** Who may call a route. `self` is the user that the path names, or an admin. */
export type Access = 'public' | 'user' | 'self' | 'admin'

/**
 * The API keys that a protected route accepts, besides every session: `full` only keys with full access, `read` also keys that may only
 * read, `identify` also keys that may only identify their owner, `any` every key, `none` no key.
 */
export type AcceptedKeys = KeyAccess | 'any' | 'none'

/** The pages of admins, and those of every user. */
export type PageArea = 'console' | 'account'

/** The texts of the pages in one language. The pages declare what they are. */
// biome-ignore lint/suspicious/noEmptyInterface: only an interface can be declared in two places.
export interface PageTexts {}

/** The question for the password, if it was given over ten minutes ago. */
export type PasswordQuestion<Request = FastifyRequest> = {
  /** What the password allows, as the end of the sentence "Enter it again to …". */
  readonly to: string | ((texts: PageTexts) => string)
  /** Which requests are asked. Without it, all of them. */
  readonly when?: ((request: Request) => boolean | Promise<boolean>) | undefined
  /** The page that Cancel leads to. Without it, the page is one segment above the form's address. */
  readonly cancel?: string
}

/** Whether a page asks for the password: never, each time in a field of the form, or if it was given over ten minutes ago. */
export type AsksForPassword<Request = FastifyRequest> = false | 'in-form' | PasswordQuestion<Request>

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** Required on every route that is not public. */
    acceptedKeys?: AcceptedKeys
    /** The session has to be opened or confirmed within the last ten minutes. */
    needsConfirmation?: boolean
    /** The route works without a second factor where one is required. Setting up works while the account has none. */
    worksWithoutFactor?: boolean | 'setup'
    /** What the route changes decides who has the role. An admin who has a second factor shows it here, where admins need one. */
    guardsRole?: boolean
    /** Whether the route changes anything. */
    writes?: boolean
    /** The settings have disabled the path: it answers 404. */
    isDisabled?: boolean
    /** The route waits for neither the database nor the password queue, so that it never answers 503. */
    isStatic?: boolean
    /**
     * A page for people. Callers are identified by the cookie, never by a token or an API key, and requests of other sites change nothing.
     * A route below /console or /account that does not declare this stops the start.
     */
    page?: PageArea
    /** Required on every form of a page, so that none is a detour around a form that asks. */
    asksForPassword?: AsksForPassword
    /** The form of a page to which the response is a file. */
    isDownload?: boolean
    /** The route answers at the path that it declares only, not under /api/v1. Every page declares this, and every file of a page. */
    hasOneAddress?: boolean
    /** Only programs on this machine may know of the path: others get 404, and no response has CORS headers. */
    isLocal?: boolean
    /** What `token` in the query has to be: others get 404, whatever the method, and count for the limit of the route by address. */
    queryToken?: string | undefined
  }
}

/** A route with every declaration that the pipeline needs. */
export type Declared = RouteOptions & {
  readonly config: FastifyContextConfig & { readonly access: Access; readonly writes: boolean }
  readonly schema: FastifySchema & { readonly response: Readonly<Record<string, unknown>> }
}

const PAGE_PATH = /^\/(?:console|account)(?:\/|$)/
const READING_METHODS: ReadonlySet<unknown> = new Set(['GET', 'HEAD'])

/** Stops the start if a route does not declare its access, the keys that it accepts, whether it writes or asks, or its responses. */
export function requireDeclarations(route: RouteOptions): Declared {
  const { method, url, config, schema } = route
  if (config?.access === undefined) throw new Error(`${method} ${url} declares no access`)
  const refusesMethods = config.allow !== undefined
  if (config.page !== undefined && !refusesMethods) requirePage(route)
  else if (PAGE_PATH.test(url) && !refusesMethods) throw new Error(`${method} ${url} is not declared as a page`)
  else if (config.access !== 'public' && config.acceptedKeys === undefined)
    throw new Error(`${method} ${url} does not declare acceptedKeys`)
  if (config.needsConfirmation && config.acceptedKeys !== 'none') throw new Error(`${method} ${url} needs a session that was confirmed`)
  if (config.acceptedKeys === 'read' && !readsOnly(route)) throw new Error(`${method} ${url} accepts keys that may only read`)
  if (config.isLocal && !config.isDisabled && !refusesMethods && config.queryToken === undefined)
    throw new Error(`${method} ${url} is for this machine only, but needs no token`)
  if (config.writes === undefined) throw new Error(`${method} ${url} does not declare whether it writes`)
  if (!schema?.response) throw new Error(`${method} ${url} declares no responses`)
  return route as Declared
}

function requirePage(route: RouteOptions): void {
  const { method, url, config, schema } = route
  if (config?.acceptedKeys !== undefined) throw new Error(`${method} ${url} is a page, which accepts no API keys`)
  if (config?.access === 'self') throw new Error(`${method} ${url} is a page, for every user or for admins`)
  if (!config?.hasOneAddress) throw new Error(`${method} ${url} is a page, but does not declare that it has one address`)
  if (schema?.hide !== true) throw new Error(`${method} ${url} is a page, which is not part of the API`)
  if (config?.asksForPassword === undefined && !readsOnly(route))
    throw new Error(`${method} ${url} does not declare whether it asks for the password`)
}

type RouteParts = Pick<RouteOptions, 'method' | 'config'>

/** Whether the route accepts GET and HEAD only. */
export function readsOnly({ method }: RouteParts): boolean {
  return [method].flat().every((name) => READING_METHODS.has(name))
}

/** The methods that a route accepts. GET includes HEAD, unless the route refuses it with `exposeHeadRoute: false`. */
export function acceptedMethods({ method, exposeHeadRoute }: RouteOptions): RouteOptions['method'] {
  return method === 'GET' && exposeHeadRoute !== false ? ['GET', 'HEAD'] : method
}

/** The API keys that a route accepts. A read-only key may also call a route that identifies the caller, but with GET only. */
export function acceptedKeysOf(route: RouteParts): AcceptedKeys | undefined {
  const acceptedKeys = route.config?.acceptedKeys
  return acceptedKeys === 'identify' && readsOnly(route) ? 'any' : acceptedKeys
}

/** One step of the pipeline. It calls `done`, returns a promise, sends the response itself, or throws. */
export type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void | Promise<void>

/** A step that waits for something. */
export type AsyncStep = (request: FastifyRequest) => Promise<void>

/** The steps that apply to a route. A step that does not apply is `false`, empty or undefined. */
export function present<Step>(...steps: readonly (Step | false | '' | undefined)[]): Step[] {
  return steps.filter((step): step is Step => Boolean(step))
}

/** The steps of pages that need the design of the site. */
export type PageSteps = {
  /** Whether BASE_URL is https. */
  readonly isSecure: boolean
  /** The token in the cookie. */
  readCookie(request: FastifyRequest): string | undefined
  /** Asks for the password again if it was given too long ago. */
  readonly requireRecentPassword: Hook
}

// The router keeps a tree of paths for each method. Methods that no route accepts share one tree, which saves most of the memory.
const OTHER_METHOD = 'TRACE'
export const ROUTED_METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', OTHER_METHOD]

/** The method under which the router looks for a route. */
export function routedMethod(method = OTHER_METHOD): string {
  return ROUTED_METHODS.includes(method) ? method : OTHER_METHOD
}

/** The method as metrics and logs show it. */
export function shownMethod(method: string): string {
  return method === OTHER_METHOD ? 'OTHER' : method
}
