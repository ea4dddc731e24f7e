import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, { type FastifyBaseLogger, type FastifyServerOptions } from 'fastify'
import type { Counters } from '../../metrics/counters.ts'
import { type ErrorPage, sendError } from '../answers/errors.ts'
import { compileSerializer } from '../answers/serialize.ts'
import { createHttpServer, type ServerLimits } from '../server.ts'
import { compileParser, type RequestSchema } from '../validation/parsing.ts'
import type { Location } from '../validation/validation-error.ts'
import { type App, type Declared, routedMethod } from './declarations.ts'
import { createHeaders } from './headers.ts'
import { BODY_LIMIT_BYTES, JSON_TYPE, parseQuery } from './input.ts'
import { installPipeline, type PipelineOptions } from './pipeline.ts'
import { refuseOtherMethods, supportMethods, TARGET_ORIGIN } from './reachability.ts'
import { createOutageLog, createProxyNotice, installRequestLog } from './request-log.ts'
import { createRequestMetrics } from './request-metrics.ts'

type HttpOptions = PipelineOptions & {
  readonly logger: FastifyBaseLogger
  readonly corsOrigins: '*' | readonly string[]
  readonly trustProxy: boolean
  /** Undefined where nobody sees the counts. */
  readonly counters?: Counters | undefined
  /** The page that a browser gets for an error. Without it, browsers get JSON as well. */
  readonly errorPage?: ErrorPage
  readonly limits?: Partial<ServerLimits>
}

const VERSION_PREFIX = '/api/v1'
const LOCATIONS: Readonly<Record<string, Location>> = { body: 'body', querystring: 'query', params: 'path' }
const REQUEST_LOG_LEVELS = new Set(['debug', 'trace'])
const SANE_REQUEST_ID = /^[\w.-]{1,64}$/

/** Sets up Fastify with the pipeline, then calls `addRoutes` once. The list of routes passed to it is complete once it has returned. */
export function createHttpApp(options: HttpOptions, addRoutes: (app: App, routes: readonly Declared[]) => void): App {
  const { logger, corsOrigins, trustProxy, counters, errorPage, limits } = options
  const setHeaders = createHeaders(corsOrigins)
  const app = fastify({
    serverFactory: (handle) => createHttpServer(handle, limits),
    // Fastify would create a logger for each request, which costs more than handling most requests. All requests share one logger, and
    // each line contains the request id.
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    // Longer than any path that a request line can contain, so that an overlong id still reaches its route.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384, querystringParser: parseQuery },
    rewriteUrl(request) {
      request.method = routedMethod(request.method)
      return withoutVersion(request.url ?? '/')
    },
    genReqId: createRequestIds({ trustProxy }),
    // One hop: the proxy appends the address that it sees. The entries before it come from the client and cannot be trusted.
    trustProxy: trustProxy && ((_address, hop) => hop === 0),
    // A path that cannot be decoded runs no hook and reaches no error handler.
    frameworkErrors: (error, request, reply) => {
      setHeaders(request, reply)
      sendError(error, request, reply)
    },
    return503OnClosing: false,
    // A route for GET accepts HEAD too: see acceptedMethods. A second route for each costs a fifth of the start.
    exposeHeadRoutes: false,
    schemaController: { compilersFactory: COMPILERS },
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.decorateRequest('logger', { getter: () => logger })
  const logOutage = createOutageLog(logger)
  app.decorateRequest('logOutage', { getter: () => logOutage })
  app.decorate('errorPage', errorPage)
  app.decorateReply('streamedBytes', 0)
  supportMethods(app)
  const metrics = counters && createRequestMetrics(counters)
  const { routes, paths } = installPipeline(app, { ...options, setHeaders, metrics, noticeProxy: createProxyNotice(options) })
  if (REQUEST_LOG_LEVELS.has(logger.level)) installRequestLog(app, paths)
  addRoutes(app, routes)
  refuseOtherMethods(app, paths())
  return app
}

type SchemaOfPart = { readonly schema: RequestSchema; readonly httpPart?: string; readonly contentType?: string }

function compileRequestPart({ schema, httpPart = 'body', contentType = JSON_TYPE }: SchemaOfPart) {
  const location = LOCATIONS[httpPart] ?? 'body'
  // The fields of a form arrive as text, like those of a query.
  const form = location === 'body' && contentType === JSON_TYPE ? 'json' : 'text'
  const parse = compileParser(schema, location, form)
  return (input: unknown) => ({ value: parse(input) })
}

// In place of Ajv and fast-json-stringify, which Fastify would load otherwise (decision 7). Its types know only the factories of these two.
const COMPILERS = {
  buildValidator: () => compileRequestPart,
  buildSerializer:
    () =>
    ({ schema }: { readonly schema: object }) =>
      compileSerializer(schema),
} as unknown as NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>

/** Every path of the API also works under /api/v1; reachability.ts refuses the others there. A client may send an absolute URL instead of a path (RFC 9112, 3.2.2). */
function withoutVersion(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(TARGET_ORIGIN, '')
  // The router does not look at the first character: to it, `*login` is /login. A proxy that limits /login sees another path.
  const url = path.startsWith('/') ? path : `/${path}`
  if (!url.startsWith(VERSION_PREFIX)) return url
  const rest = url.slice(VERSION_PREFIX.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : url
}

/** Request ids that are unique across processes. Behind a trusted proxy, the id that the proxy sends. */
function createRequestIds({ trustProxy }: Pick<HttpOptions, 'trustProxy'>): (request: Pick<IncomingMessage, 'headers'>) => string {
  const processPart = randomBytes(6).toString('base64url')
  let count = 0
  return ({ headers }) => {
    const given = headers['x-request-id']
    if (trustProxy && typeof given === 'string' && SANE_REQUEST_ID.test(given)) return given
    count++
    return `${processPart}-${count.toString(36)}`
  }
}
