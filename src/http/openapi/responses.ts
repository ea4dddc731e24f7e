import { isDeepStrictEqual } from 'node:util'
import type { FastifySchema } from 'fastify'
import { ANSWERS, type ErrorCode } from '../answers/answers.ts'
import { COMMON_CODES } from '../answers/replies.ts'
import { compileParser } from '../validation/parsing.ts'
import { InvalidRequest, type Location, MESSAGES, type ValidationIssue } from '../validation/validation-error.ts'
import { type Components, type DeclaredSchema, sampleOf } from './schemas.ts'

type ValidationExample = { readonly summary: string; readonly value: { readonly detail: readonly ValidationIssue[] } }

// The only validation error of a route without input.
const REPEATED: ValidationExample = {
  summary: 'A parameter that is sent twice',
  value: { detail: [{ loc: ['query', 'page'], ...MESSAGES.repeated }] },
}

/** Examples of validation errors, made by the parser itself. */
function validationExamples(schema: FastifySchema): Record<string, ValidationExample> {
  const path = partSchema(schema.params)
  const query = partSchema(schema.querystring)
  const body = partSchema(schema.body)
  const examples = {
    ...(path && { path: example('The path', path, 'path', [filled(path, '')]) }),
    ...(query && { query: example('The query', query, 'query', [{}, filled(query, ''), filled(query, '\0')]) }),
    ...(body && {
      missing: example('A body without its required fields', body, 'body', [{}]),
      invalid: example('Invalid fields', body, 'body', [filled(body, '')]),
    }),
  }
  const found = Object.entries(examples).filter((entry): entry is [string, ValidationExample] => entry[1] !== undefined)
  return found.length > 0 ? Object.fromEntries(found) : { repeated: REPEATED }
}

/** The schema of a part of a request. If a route accepts several content types, the one for JSON. */
function partSchema(declared: unknown): DeclaredSchema | undefined {
  const schema = declared as DeclaredSchema | undefined
  return schema?.content?.['application/json']?.schema ?? schema
}

function filled(schema: DeclaredSchema, value: string): object {
  if (schema.items) return [filled(schema.items, value)]
  const { properties = {} } = schema
  return Object.fromEntries(Object.keys(properties).map((name) => [name, value]))
}

/** The issues of the first input that has any. */
function example(summary: string, schema: DeclaredSchema, location: Location, inputs: readonly object[]): ValidationExample | undefined {
  const parse = compileParser(schema, location)
  for (const input of inputs) {
    try {
      parse(input)
    } catch (error) {
      if (error instanceof InvalidRequest) return { summary, value: { detail: error.issues } }
      throw error
    }
  }
  return undefined
}

/** Responses that many routes share: the name of the component, and its description. */
const COMMON: Readonly<Partial<Record<string, { readonly name: string; readonly description: string }>>> = {
  401: { name: 'NotAuthenticated', description: 'The credentials are missing or invalid.' },
  403: { name: 'NotPermitted', description: 'The caller does not have permission.' },
  404: { name: 'NotFound', description: 'The path does not exist.' },
  413: { name: 'TooLarge', description: 'The body is larger than 64 KiB.' },
  429: { name: 'TooManyRequests', description: 'A limit of the settings is exceeded. Known and unknown accounts are limited alike.' },
  500: { name: 'Failed', description: 'An unexpected error. The log of the service has the reason.' },
  503: { name: 'Unavailable', description: 'The service is temporarily unavailable. Retry after the time in `Retry-After`.' },
}
const CODES: Readonly<Record<number, readonly ErrorCode[]>> = COMMON_CODES

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  302: 'The page is at another address.',
  303: 'The next page is at another address.',
  503: 'The service, or another one that it needs, cannot answer right now.',
  304: 'The cached copy of the client is current.',
  400: 'The request is valid, but cannot be carried out.',
  401: 'The token or the account is not accepted.',
  403: 'The caller does not have permission, or has to show once more who they are.',
  404: 'Not found.',
  413: 'The body is larger than 64 KiB, or what is stored would be too large.',
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

export function createResponses(components: Components) {
  const shared: Record<string, object> = {}

  function describe(schema: FastifySchema): Record<string, object> {
    // Every route declares its responses as an object by status: declarations.ts requires them, replies.ts builds them.
    const declared = Object.entries(schema.response as Record<string, DeclaredSchema>)
    return Object.fromEntries(declared.map(([status, view]) => [status, describeOne(Number(status), view, schema)]))
  }

  function describeOne(status: number, view: DeclaredSchema, schema: FastifySchema): object {
    if (status < 400) return succeeded(status, view, schema)
    const codes = view.codes ?? []
    const common = isDeepStrictEqual(codes, CODES[status]) ? COMMON[status] : undefined
    const description = common?.description ?? DESCRIPTIONS[status] ?? ''
    const examples = status === 422 ? validationExamples(schema) : refusalExamples(codes)
    const response = { description, content: describeContent(schema, view, { examples }), headers: describeHeaders(codes) }
    // A route that also answers with pages does not share its responses with other routes.
    if (common === undefined || schema.page) return response
    shared[common.name] = response
    return { $ref: `#/components/responses/${common.name}` }
  }

  function succeeded(status: number, view: DeclaredSchema, schema: FastifySchema): object {
    const description = view.answer?.description ?? view.description ?? DESCRIPTIONS[status] ?? 'Done.'
    if (status === 302 || status === 303) return { description, headers: { Location: LOCATION } }
    if (status === 204 || status === 304) return { description }
    if (view.contentMediaType) return { description, content: { [view.contentMediaType]: { schema: { type: 'string' } } } }
    return { description, content: describeContent(schema, view, { example: sampleOf(view) }) }
  }

  function describeContent(schema: FastifySchema, view: DeclaredSchema, shown: { example: unknown } | { examples: object }): object {
    const json = { schema: components.refer(view), ...shown }
    return { 'application/json': json, ...(schema.page && { 'text/html': { schema: { type: 'string' } } }) }
  }

  return { describe, shared }
}

function refusalExamples(codes: readonly ErrorCode[]): object {
  return Object.fromEntries(codes.map((code) => [code, { summary: ANSWERS[code].detail, value: { detail: ANSWERS[code].detail } }]))
}

/** The headers of the responses with these codes. */
function describeHeaders(codes: readonly ErrorCode[]): Record<string, object> {
  const names = new Set(codes.flatMap((code) => Object.keys(ANSWERS[code].headers)))
  const known = Object.entries(HEADERS).filter(([name]) => names.has(name))
  const description = 'What is wrong, for programs. A code never changes.'
  const codeHeader = { description, required: true, schema: { type: 'string', enum: codes }, example: codes[0] }
  return { 'X-Error-Code': codeHeader, ...Object.fromEntries(known.map(([, header]) => header)) }
}
