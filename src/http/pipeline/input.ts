import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Blocklist } from '../../security/blocklist.ts'
import { compileParser, NO_PARAMETERS, TOO_MANY_PARAMETERS } from '../validation/parsing.ts'
import { InvalidRequest, type IssueMessage, MAX_PARAMETERS, MESSAGES } from '../validation/validation-error.ts'
import type { Declared, Hook } from './declarations.ts'

const REPEATED: readonly string[] = []
const BYTE = /[\x80-\xff]/g

/**
 * Parses a query into text parameters. This runs before the caller is identified, so it never refuses: a repeated parameter becomes
 * a list and undecodable text becomes null, and the parser of the route reports them.
 */
export function parseQuery(text: string): Record<string, unknown> {
  if (text === '') return NO_PARAMETERS
  const pairs = text.split('&', MAX_PARAMETERS + 1)
  if (pairs.length > MAX_PARAMETERS) return TOO_MANY_PARAMETERS
  // Without a prototype, no name collides with an inherited property.
  const parameters: Record<string, unknown> = Object.create(null)
  for (const pair of pairs) {
    if (pair === '') continue
    const end = pair.indexOf('=')
    const given = end === -1 ? pair : pair.slice(0, end)
    const name = decode(given)
    const value = end === -1 ? '' : decode(pair.slice(end + 1))
    const key = name ?? given
    parameters[key] = key in parameters ? REPEATED : name === null ? null : value
  }
  return parameters
}

/** Null if the text is not UTF-8. Node delivers a byte that is not percent-encoded as one character. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' ').replace(BYTE, (byte) => `%${byte.charCodeAt(0).toString(16)}`))
  } catch {
    return null
  }
}

const parseNothing = compileParser({}, 'query')

/** Checks the query of a route that declares none: no parameter may be repeated or undecodable. */
export function checkQuery(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  if (request.raw.url?.includes('?')) parseNothing(request.query)
  done()
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The size of the body that was read. */
    bodyBytes: number
  }
}

export const BODY_LIMIT_BYTES = 64 * 1024

export const JSON_TYPE = 'application/json'
/** Of RFC 7396. */
export const MERGE_PATCH_TYPE = 'application/merge-patch+json'
const URLENCODED_TYPE = 'application/x-www-form-urlencoded'
const MULTIPART_TYPE = 'multipart/form-data'
const END_OF_PART_HEADERS = '\r\n\r\n'

/** Every body is read as bytes. The step of the route parses the content types that the route declares. */
export function decorateBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    request.bodyBytes = body.length
    done(null, body)
  })
  app.decorateRequest('bodyBytes', 0)
}

export function takesBody({ schema }: Declared): boolean {
  return schema.body !== undefined
}

/** Checks the path, then parses the body, which the schema validates afterwards. */
export function checkBody({ schema }: Declared): Hook {
  // A route declares either one schema, for JSON, or one for each content type.
  const { content, mayBeAbsent = false } = schema.body as { content?: object; mayBeAbsent?: boolean }
  const mediaTypes = Object.keys(content ?? { [JSON_TYPE]: {} })
  return async (request) => {
    // A validation error of the path is reported before anything about the body.
    request.getValidationFunction('params')?.(request.params)
    request.body = mayBeAbsent && isAbsent(request) ? {} : await readBody(request, mediaTypes)
  }
}

function isAbsent({ body }: FastifyRequest): boolean {
  return !Buffer.isBuffer(body) || body.length === 0
}

async function readBody({ body, mediaType = '', headers }: FastifyRequest, mediaTypes: readonly string[]): Promise<unknown> {
  // No parser runs for a request without a body.
  if (!Buffer.isBuffer(body)) throw invalidBody(MESSAGES.missing)
  const [parse, message] = (mediaTypes.includes(mediaType) && PARSERS[mediaType]) || []
  if (!parse || !message) throw invalidBody(MESSAGES.contentType)
  if (body.length === 0) throw invalidBody(MESSAGES.missing)
  try {
    return await parse(body, headers['content-type'] ?? '')
  } catch {
    throw invalidBody(message)
  }
}

/** On a route that takes no body, any Content-Type is accepted, even a malformed one. */
export function ignoreContentType({ raw }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  delete raw.headers['content-type']
  done()
}

export function ignoreBody(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.body = undefined
  done()
}

/** A form is posted by a page, so a person reads the answer. */
export function isForm({ mediaType }: FastifyRequest): boolean {
  return mediaType === URLENCODED_TYPE || mediaType === MULTIPART_TYPE
}

type BodyParser = (body: Buffer, contentType: string) => unknown

/** How the body of each content type is read, and the message if it cannot be. */
const PARSERS: Readonly<Record<string, readonly [parse: BodyParser, message: IssueMessage]>> = {
  [JSON_TYPE]: [parseJson, MESSAGES.jsonInvalid],
  [MERGE_PATCH_TYPE]: [parseJson, MESSAGES.jsonInvalid],
  [URLENCODED_TYPE]: [parseForm, MESSAGES.formInvalid],
  [MULTIPART_TYPE]: [parseMultipart, MESSAGES.formInvalid],
}

// Invalid UTF-8 is refused: with replacement characters, two different passwords would become the same.
const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseJson(body: Buffer): unknown {
  return JSON.parse(utf8.decode(body))
}

function parseForm(body: Buffer): Record<string, unknown> {
  // One character for each byte, as Node delivers a query.
  const fields = parseQuery(body.toString('latin1'))
  if (Object.values(fields).includes(null)) throw new Error('a field is not UTF-8')
  return fields
}

async function parseMultipart(body: Buffer, contentType: string): Promise<Record<string, unknown>> {
  if (utf8.decode(body).split(END_OF_PART_HEADERS, MAX_PARAMETERS + 2).length > MAX_PARAMETERS + 1) return TOO_MANY_PARAMETERS
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
  return Object.fromEntries([...new Set(form.keys())].map((name) => [name, form.getAll(name).length > 1 ? REPEATED : form.get(name)]))
}

function invalidBody(message: IssueMessage): InvalidRequest {
  return new InvalidRequest([{ loc: ['body'], ...message }])
}

type BodySchema = {
  readonly properties?: Readonly<Record<string, { readonly format?: string; readonly minLength?: number }>>
  readonly content?: Readonly<Record<string, { readonly schema: BodySchema }>>
}

/** Refuses a new password that is on the list (422). A route has this step if a field of its body is a new password. */
export function refuseListedPasswords(blocklist: Blocklist | undefined, { schema }: Declared): Hook | undefined {
  const fields = newPasswordFields((schema.body ?? {}) as BodySchema)
  if (blocklist === undefined || fields.length === 0) return undefined
  return async ({ body }) => {
    const values = body as Readonly<Record<string, string | undefined>>
    for (const field of fields) {
      const password = values[field]
      if (password !== undefined && (await blocklist.includes(password)))
        throw new InvalidRequest([{ loc: ['body', field], ...MESSAGES.listedPassword }])
    }
  }
}

/** Only a new password has a minimum length: one that is compared may be anything. */
function newPasswordFields({ properties = {}, content = {} }: BodySchema): string[] {
  const own = Object.entries(properties).filter(([, { format, minLength }]) => format === 'password' && minLength !== undefined)
  return [...new Set([...own.map(([name]) => name), ...Object.values(content).flatMap(({ schema }) => newPasswordFields(schema))])]
}
