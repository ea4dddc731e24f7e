import { randomBytes } from 'node:crypto'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import type { Authentication } from '../domain/authentication.service.ts'
import { installAccess } from './access.ts'
import type { App } from './app-type.ts'
import { BODY_LIMIT_BYTES, installBodyParser } from './body.ts'
import { answerFrameworkError, installErrorAnswers } from './errors.ts'
import { installEvents } from './events.ts'
import type { Location } from './faults.ts'
import { installHeaders } from './headers.ts'
import { installMethodRefusals } from './methods.ts'
import { compileParser, type ObjectSchema } from './parsing.ts'
import { createHttpServer } from './server.ts'

export type HttpOptions = {
  readonly logger: FastifyBaseLogger
  readonly authentication: Authentication
  readonly corsOrigins: '*' | readonly string[]
  readonly trustProxy: boolean
}

const VERSION_PREFIX = '/api/v1'
const LOCATIONS: Readonly<Record<string, Location>> = { body: 'body', querystring: 'query', params: 'path' }
const SANE_REQUEST_ID = /^[\w.-]{1,64}$/

/** The HTTP skeleton: what holds for every route. `addRoutes` is called once, with everything in place. */
export function createHttpApp({ logger, authentication, corsOrigins, trustProxy }: HttpOptions, addRoutes: (app: App) => void): App {
  const app = fastify({
    serverFactory: createHttpServer,
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    // Longer than any path that a request line may hold: a long id is answered as an id.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    rewriteUrl: ({ url = '/' }) => withoutVersion(url),
    genReqId: createRequestIds(trustProxy),
    trustProxy,
    frameworkErrors: answerFrameworkError,
    return503OnClosing: false,
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.setValidatorCompiler(({ schema, httpPart }) => {
    const parse = compileParser(schema as ObjectSchema, LOCATIONS[httpPart ?? 'body'] ?? 'body')
    return (input: unknown) => ({ value: parse(input) })
  })
  installErrorAnswers(app)
  installHeaders(app, corsOrigins)
  installBodyParser(app)
  installAccess(app, authentication)
  installEvents(app)
  const refuseOtherMethods = installMethodRefusals(app)
  addRoutes(app)
  refuseOtherMethods()
  return app
}

/** Every path answers under /api/v1 as well. */
function withoutVersion(url: string): string {
  if (!url.startsWith(VERSION_PREFIX)) return url
  const rest = url.slice(VERSION_PREFIX.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : url
}

/** Ids that are unique over processes; behind a trusted proxy, the proxy's own. */
function createRequestIds(trustProxy: boolean): (request: { headers: Record<string, string | string[] | undefined> }) => string {
  const processPart = randomBytes(6).toString('base64url')
  let count = 0
  return ({ headers }) => {
    const given = headers['x-request-id']
    if (trustProxy && typeof given === 'string' && SANE_REQUEST_ID.test(given)) return given
    count++
    return `${processPart}-${count.toString(36)}`
  }
}
