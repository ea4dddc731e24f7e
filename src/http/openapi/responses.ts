import { isDeepStrictEqual } from 'node:util'
import type { FastifySchema } from 'fastify'
import { ANSWERS, type ErrorCode } from '../answers/answers.ts'
import { COMMON_CODES } from '../answers/replies.ts'
import { type Components, type DeclaredSchema, sampleOf } from './schemas.ts'
import { validationExamples } from './validation-examples.ts'

/** Responses that many routes share: the name of the component, and its description. */
const COMMON: Readonly<Record<number, { readonly name: string; readonly description: string; readonly codes: readonly ErrorCode[] }>> = {
  401: { name: 'NotAuthenticated', description: 'The credentials are missing or invalid.', codes: COMMON_CODES[401] },
  403: { name: 'NotPermitted', description: 'The caller does not have permission.', codes: COMMON_CODES[403] },
  404: { name: 'NotFound', description: 'The path does not exist.', codes: COMMON_CODES[404] },
  413: { name: 'TooLarge', description: 'The body is larger than 64 KiB.', codes: COMMON_CODES[413] },
  429: {
    name: 'TooManyRequests',
    description: 'A limit of the settings is exceeded. Known and unknown accounts are limited alike.',
    codes: COMMON_CODES[429],
  },
  500: { name: 'Failed', description: 'An unexpected error. The log of the service has the reason.', codes: COMMON_CODES[500] },
  503: {
    name: 'Unavailable',
    description: 'The service is temporarily unavailable. Retry after the time in `Retry-After`.',
    codes: COMMON_CODES[503],
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

/** By the name in `ANSWERS`: the usual spelling, and the description. */
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

type ContentOptions = { readonly description: string | undefined; readonly examples?: object }

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
    if (status < 400) return succeeded(status, view, schema)
    const codes = view.codes ?? []
    const headers = describeHeaders(codes)
    if (status === 422)
      return { ...withContent(view, schema, { description: DESCRIPTIONS[status], examples: validationExamples(schema) }), headers }
    const common = COMMON[status]
    if (common === undefined || !isDeepStrictEqual(codes, common.codes)) return refused(DESCRIPTIONS[status], view, schema)
    const response = refused(common.description, view, schema)
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
    return withContent(view, schema, { description })
  }

  function refused(description: string | undefined, view: DeclaredSchema, schema: FastifySchema) {
    const codes = view.codes ?? []
    const examples = Object.fromEntries(
      codes.map((code) => [code, { summary: String(ANSWERS[code].detail), value: { detail: ANSWERS[code].detail } }]),
    )
    return { ...withContent(view, schema, { description, examples }), headers: describeHeaders(codes) }
  }

  function withContent(view: DeclaredSchema, schema: FastifySchema, { description = '', examples }: ContentOptions) {
    const json = { schema: components.refer(view), ...(examples ? { examples } : { example: sampleOf(view) }) }
    const page = schema.page && { 'text/html': { schema: { type: 'string' } } }
    return { description, content: { 'application/json': json, ...page } }
  }

  return { describe, shared }
}

/** The headers of the responses with these codes. */
function describeHeaders(codes: readonly ErrorCode[]): Record<string, object> {
  const names = new Set(codes.flatMap((code) => Object.keys(ANSWERS[code].headers)))
  const known = Object.entries(HEADERS).filter(([name]) => names.has(name))
  const description = 'What is wrong, for programs. A code never changes.'
  const codeHeader = { description, required: true, schema: { type: 'string', enum: codes }, example: codes[0] }
  return { 'X-Error-Code': codeHeader, ...Object.fromEntries(known.map(([, header]) => header)) }
}
