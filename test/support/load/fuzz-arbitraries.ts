import fc from 'fast-check'
import type { ApiDocument, ListedOperation } from '../http/openapi.ts'

type Schema = ApiDocument['components']['schemas'][string] & {
  /** A field that may be null has two types. */
  readonly type?: string | string[]
  readonly format?: string
  readonly anyOf?: Schema[]
}

/** The parts of a request, without its caller. */
export type FuzzRequest = {
  readonly operation: ListedOperation
  readonly path: string
  readonly body: string | undefined
  readonly contentType: string | undefined
  readonly accept: string | undefined
  readonly sender: Sender
}

export const SENDERS = [
  'nobody',
  'wrong token',
  'empty bearer',
  'wrong key',
  'both',
  'member',
  'key',
  'admin',
  'banned',
  'unverified',
] as const
export type Sender = (typeof SENDERS)[number]
/** Callers that every protected operation must reject. */
export const STRANGERS: ReadonlySet<Sender> = new Set([
  'nobody',
  'wrong token',
  'empty bearer',
  'wrong key',
  'both',
  'banned',
  'unverified',
])

/** Part of every body: no error may contain it. */
export const ECHO = 'canary-8d1f'

const NASTY = [
  '',
  ' ',
  "' or '1'='1' --",
  '"; drop table users; --',
  '%',
  '_',
  '\\',
  '%00',
  '\u0000',
  '\u0007',
  '\ud800',
  '\u202e',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: what a template engine would evaluate is sent as it stands.
  '${7*7}',
  '{{7*7}}',
  '__proto__',
  'constructor',
  'null',
  'true',
  '1e3',
  '0x10',
  '+1',
  '-1',
  '1.0',
  '9'.repeat(40),
  'é'.repeat(120),
  'a'.repeat(3000),
  'a@x.io,b@y.io',
  `${ECHO}@example.com`,
  ECHO,
]
const FOREIGN_FIELDS = ['id', 'user_id', 'role', 'verified', 'banned', 'key', 'is_active', '__proto__', 'constructor', 'toString', '']

const text = fc.oneof(
  fc.constantFrom(...NASTY),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
)
const anything = fc.oneof(
  text,
  fc.jsonValue(),
  fc.integer(),
  fc.double(),
  fc.constantFrom<unknown>(null, true, [], {}, [[[[]]]], { a: { b: {} } }),
)

/** Values that fit a schema, most of the time. */
function fitting(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(fitting))
  const types = [schema.type].flat()
  if (types.includes('boolean')) return fc.boolean()
  if (types.includes('integer')) return fc.nat({ max: 60 })
  if (types.includes('array')) return fc.array(fc.string({ maxLength: 12 }), { maxLength: 4 })
  if (schema.format === 'date-time') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
  if (schema.format === 'email') return fc.nat({ max: 5000 }).map((n) => `fuzz${n}@example.com`)
  if (schema.format === 'uuid') return fc.uuid()
  return fc.string({ unit: 'grapheme', minLength: 8, maxLength: 20 })
}

function field(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: fitting(schema), weight: 5 }, { arbitrary: anything, weight: 1 })
}

function bodyOf({ components }: ApiDocument, { operation }: ListedOperation): fc.Arbitrary<string | undefined> {
  const given = Object.values(operation.requestBody?.content ?? {})[0]?.schema
  const resolve = (schema: Schema | undefined) => (schema?.$ref ? components.schemas[schema.$ref.split('/').at(-1) ?? ''] : schema)
  const isList = given?.items !== undefined
  const schema = resolve(isList ? given.items : given)
  const fields = Object.entries(schema?.properties ?? {}).map(([name, property]) => [name, field(property)] as const)
  const known = fc.record(Object.fromEntries(fields), { requiredKeys: [] })
  const whole = fc.record(Object.fromEntries(fields))
  const foreign = fc.dictionary(fc.constantFrom(...FOREIGN_FIELDS), anything, { maxKeys: 3 })
  const object = fc.tuple(fc.oneof(whole, known), foreign).map(([one, other]) => ({ ...other, ...one, extra: ECHO }))
  const body: fc.Arbitrary<unknown> = isList ? fc.array(object, { maxLength: 4 }) : object
  return fc.oneof(
    { arbitrary: body.map((value) => JSON.stringify(value)), weight: 8 },
    { arbitrary: anything.map((value) => JSON.stringify(value)), weight: 1 },
    { arbitrary: text, weight: 1 },
    { arbitrary: fc.constant(undefined), weight: 1 },
  )
}

function pathOf({ path, operation }: ListedOperation, ids: () => Readonly<Record<string, string[]>>): fc.Arbitrary<string> {
  const parameters = operation.parameters ?? []
  const values = parameters.map(({ name, in: place }) =>
    fc.record({
      name: fc.constant(name),
      place: fc.constant(place),
      isGiven: fc.nat({ max: 9 }).map((n) => place === 'path' || n > 1),
      isTwice: fc.nat({ max: 30 }).map((n) => n === 0),
      value: fc.oneof(
        fc.nat({ max: 100 }).map((n) => ids()[name]?.[n % (ids()[name]?.length ?? 1)] ?? String(n)),
        fc.nat({ max: 60 }).map(String),
        fc.uuid(),
        text,
      ),
    }),
  )
  return fc.tuple(fc.constantFrom('', '/api/v1'), fc.boolean(), ...values).map(([prefix, slash, ...given]) => {
    const inPath = given.filter(({ place }) => place === 'path')
    const filled = inPath.reduce((url, { name, value }) => url.replace(`{${name}}`, encoded(value) || '0'), path)
    const query = given
      .filter(({ place, isGiven }) => place === 'query' && isGiven)
      .flatMap(({ name, value, isTwice }) => {
        const pair = `${name}=${encoded(value)}`
        return isTwice ? [pair, pair] : [pair]
      })
    const end = slash && !filled.endsWith('/') ? `${filled}/` : filled
    return `${prefix}${end}${query.length > 0 ? `?${query.join('&')}` : ''}`
  })
}

/** A lone surrogate has no UTF-8 form, so its bytes are sent, which are invalid. A single dot would be interpreted as a path segment. */
function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed()).replace(/^\.{1,2}$/, '...')
}

export function fuzzRequests(
  document: ApiDocument,
  operations: readonly ListedOperation[],
  ids: () => Readonly<Record<string, string[]>>,
): fc.Arbitrary<FuzzRequest> {
  const byOperation = operations.map((operation) =>
    fc.record({
      operation: fc.constant(operation),
      path: pathOf(operation, ids),
      body: operation.method === 'GET' ? fc.constant(undefined) : bodyOf(document, operation),
      contentType: fc.oneof(
        { arbitrary: fc.constant('application/json'), weight: 12 },
        {
          arbitrary: fc.constantFrom(
            undefined,
            'text/plain',
            'application/x-www-form-urlencoded',
            'multipart/form-data; boundary=x',
            'application/json; charset=latin1',
            '/',
          ),
          weight: 1,
        },
      ),
      accept: fc.constantFrom(undefined, '*/*', 'application/json', 'text/html'),
      sender: fc.constantFrom(...SENDERS),
    }),
  )
  return fc.oneof(...byOperation)
}
