import type { FastifySchema } from 'fastify'
import type { RefusalCode } from '../../model/refusal.ts'
import { ANSWERS, type Answer, INTERNAL, NOT_FOUND, TOO_LARGE } from '../answers/errors.ts'
import { type Components, type DeclaredSchema, sampleOf } from './schemas.ts'
import { validationExamples } from './validation-examples.ts'

/** The responses that many routes share, by status: their names in the document, and the answers that they include. */
const COMMON: Readonly<Record<number, { readonly name: string; readonly description: string; readonly answers: Record<string, Answer> }>> =
  {
    401: {
      name: 'NotAuthenticated',
      description: 'The credentials are missing or invalid.',
      answers: pick('not_authenticated', 'token_invalid', 'token_expired', 'key_invalid', 'key_inactive', 'key_expired'),
    },
    403: { name: 'NotPermitted', description: 'The caller does not have permission.', answers: pick('not_permitted') },
    404: { name: 'NotFound', description: 'The path does not exist.', answers: { not_found: NOT_FOUND } },
    413: { name: 'TooLarge', description: 'The body is larger than 64 KiB.', answers: { too_large: TOO_LARGE } },
    500: { name: 'Failed', description: 'An unexpected error. The log of the service has the reason.', answers: { internal: INTERNAL } },
    503: {
      name: 'Unavailable',
      description: 'The service is temporarily unavailable. Retry after the time in `Retry-After`.',
      answers: pick('unavailable'),
    },
  }

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  302: 'The page is at another address.',
  304: 'The cached copy of the client is current.',
  400: 'The request is valid, but cannot be carried out.',
  401: 'The token or the account is not accepted.',
  404: 'Not found.',
  422: 'The request is invalid.',
}

/** The headers of answers, by their lower-case names: the usual spelling, and the description. */
const HEADERS: Readonly<Record<string, readonly [string, object]>> = {
  'www-authenticate': [
    'WWW-Authenticate',
    { description: 'The scheme to authenticate with.', schema: { type: 'string' }, example: 'Bearer' },
  ],
  'retry-after': ['Retry-After', { description: 'Seconds to wait before trying again.', schema: { type: 'integer' }, example: 2 }],
}
const LOCATION = { description: 'The address of the page.', schema: { type: 'string', format: 'uri' } }

export type Responses = {
  describe(schema: FastifySchema): Record<string, object>
  readonly shared: Record<string, object>
}

export function createResponses(components: Components): Responses {
  const shared: Record<string, object> = {}

  function describe(schema: FastifySchema): Record<string, object> {
    // Every route declares its responses as an object by status: declarations.ts requires them, replies.ts builds them.
    const declared = schema.response as Record<string, DeclaredSchema>
    return Object.fromEntries(
      Object.entries(declared).map(([status, view]) => [status, describeOne(Number(status), view, schema)] as const),
    )
  }

  function describeOne(status: number, view: DeclaredSchema, schema: FastifySchema): object {
    if (status === 422) return withContent(status, view, validationExamples(schema), schema)
    if (status < 400) return succeeded(status, view, schema)
    const codes = view.refusals as readonly RefusalCode[] | undefined
    const common = codes?.length ? undefined : COMMON[status]
    if (common === undefined) return refused(status, DESCRIPTIONS[status] ?? '', pick(...(codes ?? [])), view, schema)
    const response = refused(status, common.description, common.answers, view, schema)
    // A route that also answers with pages does not share its responses with other routes.
    if (schema.page) return response
    shared[common.name] = response
    return { $ref: `#/components/responses/${common.name}` }
  }

  function succeeded(status: number, view: DeclaredSchema, schema: FastifySchema): object {
    const description = view.answer?.description ?? view.description ?? DESCRIPTIONS[status] ?? 'Done.'
    if (status === 302) return { description, headers: { Location: LOCATION } }
    if (status === 204 || status === 304) return { description }
    if (view.contentMediaType) return { description, content: { [view.contentMediaType]: { schema: { type: 'string' } } } }
    return withContent(status, view, undefined, schema, description)
  }

  function refused(status: number, description: string, answers: Record<string, Answer>, view: DeclaredSchema, schema: FastifySchema) {
    const headers = Object.fromEntries(
      Object.values(answers)
        .flatMap(({ headers = {} }) => Object.keys(headers))
        .flatMap((name) => (HEADERS[name] ? [HEADERS[name]] : [])),
    )
    const examples = Object.fromEntries(
      Object.entries(answers).map(([code, { detail }]) => [code, { summary: String(detail), value: { detail } }]),
    )
    return { ...withContent(status, view, examples, schema, description), ...(Object.keys(headers).length > 0 && { headers }) }
  }

  function withContent(status: number, view: DeclaredSchema, examples: object | undefined, schema: FastifySchema, description?: string) {
    const json = { schema: components.refer(view), ...(examples ? { examples } : { example: sampleOf(view) }) }
    const page = schema.page && { 'text/html': { schema: { type: 'string' } } }
    return { description: description ?? DESCRIPTIONS[status] ?? '', content: { 'application/json': json, ...page } }
  }

  return { describe, shared }
}

function pick(...codes: readonly RefusalCode[]): Record<string, Answer> {
  return Object.fromEntries(codes.map((code) => [code, ANSWERS[code]]))
}
