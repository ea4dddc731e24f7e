import type { FastifyReply, FastifyRequest, HTTPMethods, RouteOptions } from 'fastify'
import type { RefusalCode } from '../../model/refusal.ts'
import { type CommonStatus, refusals } from '../answers/replies.ts'
import type { Tag } from '../openapi/document.ts'
import { type App, acceptedKeysOf, type Declared, present } from '../pipeline/declarations.ts'
import type { Static, TSchema } from '../validation/schema.ts'

type ApiRequest<Params extends TSchema, Query extends TSchema, Body extends TSchema> = FastifyRequest & {
  readonly params: Static<Params>
  readonly query: Static<Query>
  readonly body: Static<Body>
}

type ApiConfig = Declared['config']

/** A route of the API: what the pipeline needs, what the documentation says, what it accepts and returns, and what it does. */
type ApiRoute<Params extends TSchema, Query extends TSchema, Body extends TSchema, View extends TSchema> = {
  readonly config: ApiConfig
  readonly summary: string
  readonly description: string
  /** Browsers and forms get pages with the same statuses. */
  readonly page?: true
  readonly params?: Params
  readonly querystring?: Query
  readonly body?: Body
  /**
   * Every status that the route may answer with, except for the errors that follow from its other declarations. `errors` has the views of
   * errors that say more than others.
   */
  readonly response: {
    readonly 200?: View
    readonly 201?: View
    readonly refuses?: readonly (RefusalCode | CommonStatus)[]
    readonly errors?: Readonly<Record<number, TSchema>>
  } & {
    readonly [Status in 204 | 302 | 303 | 304]?: TSchema
  }
  readonly errorHandler?: RouteOptions['errorHandler']
  /** For a link in a mail: a scanner that sends HEAD must not use up its code. */
  readonly exposeHeadRoute?: false
  /** Returns the view. With 204, it returns once the work is done. */
  handle(request: ApiRequest<Params, Query, Body>, reply: FastifyReply): Static<View> | FastifyReply | Promise<Static<View> | FastifyReply>
}

type AddRoute = <Params extends TSchema, Query extends TSchema, Body extends TSchema, View extends TSchema>(
  url: string,
  /** The name of the operation in generated clients. It never changes. */
  operationId: string,
  route: ApiRoute<Params, Query, Body, View>,
) => void

/** Declares routes under one heading of the documentation. */
export function createApiRoutes(app: App, tag: Tag): Readonly<Record<'get' | 'post' | 'put' | 'patch' | 'delete', AddRoute>> {
  function adder(method: HTTPMethods): AddRoute {
    return (url, operationId, { config, errorHandler, exposeHeadRoute, handle, response, ...documented }) => {
      const { refuses = [], errors = {}, ...views } = response
      const described = { ...views, ...refusals(...refuses, ...commonErrors(method, config)), ...errors }
      // The type of the request follows from the schemas that validate it.
      const work = handle as (request: FastifyRequest, reply: FastifyReply) => unknown
      app.route({
        method,
        url,
        config,
        schema: { ...documented, operationId, response: described, tags: [tag] },
        ...(errorHandler && { errorHandler }),
        ...(exposeHeadRoute === false && { exposeHeadRoute }),
        handler: views[204] ? answerEmpty(work) : work,
      })
    }
  }
  return { get: adder('GET'), post: adder('POST'), put: adder('PUT'), patch: adder('PATCH'), delete: adder('DELETE') }
}

/** The errors that every route with these declarations may answer with. */
function commonErrors(method: HTTPMethods, config: ApiConfig): CommonStatus[] {
  const { access, isDisabled, limits, isStatic } = config
  const isProtected = access !== 'public'
  return present<CommonStatus>(
    isProtected && 401,
    isProtected && (access !== 'user' || acceptedKeysOf({ method, config }) !== 'any') && 403,
    isDisabled !== undefined && 404,
    method !== 'GET' && 413,
    limits !== undefined && 429,
    !isStatic && 503,
  )
}

function answerEmpty(work: (request: FastifyRequest, reply: FastifyReply) => unknown) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    await work(request, reply)
    return reply.code(204).send()
  }
}
