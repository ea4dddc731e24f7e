import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Type } from 'typebox'
import { compileParser, type RequestSchema } from '../../../src/http/validation/parsing.ts'
import { InvalidRequest, type Location } from '../../../src/http/validation/validation-error.ts'

type Case = readonly [input: unknown, expected: unknown]

const LONE_SURROGATE = 'a\ud800b'

/** The value of one field, or the type of its validation issue. */
function parseField(field: object, location: Location, input: unknown): unknown {
  const parse = compileParser({ properties: { field }, required: ['field'] } as RequestSchema, location)
  try {
    return { value: (parse({ field: input }) as { field: unknown }).field }
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error
    return error.issues.map(({ loc, type }) => `${loc.slice(1).join('.')} ${type}`).join(', ')
  }
}

function table(title: string, field: object, location: Location, cases: readonly Case[]): void {
  test(title, () => {
    for (const [input, expected] of cases) {
      const wanted = typeof expected === 'string' && expected.startsWith('field') ? expected : { value: expected }
      assert.deepEqual(parseField(field, location, input), wanted, `for ${JSON.stringify(input)}`)
    }
  })
}

table('a string in a body is a string, within its length in code points', Type.String({ minLength: 2, maxLength: 3 }), 'body', [
  ['ab', 'ab'],
  ['🔑🔑🔑', '🔑🔑🔑'],
  ['a', 'field string_too_short'],
  ['🔑', 'field string_too_short'],
  ['abcd', 'field string_too_long'],
  [' a ', ' a '],
  [12, 'field string_type'],
  [true, 'field string_type'],
  [null, 'field string_type'],
  [['ab'], 'field string_type'],
  [{ toString: 'ab' }, 'field string_type'],
  ['a\0', 'field value_error'],
  ['a\n', 'field value_error'],
  ['a\u007f', 'field value_error'],
  ['a\u0085', 'field value_error'],
  [LONE_SURROGATE, 'field value_error'],
])

table(
  'a trimmed string is measured without leading and trailing white space, and control characters are refused first',
  Type.String({ trimmed: true, minLength: 1, maxLength: 3 }),
  'body',
  [
    ['  ab  ', 'ab'],
    ['\u00a0ab\u3000', 'ab'],
    [' abc ', 'abc'],
    ['   ', 'field string_too_short'],
    ['ab\n', 'field value_error'],
    ['\tab', 'field value_error'],
  ],
)

table('a password is not changed, and may contain control characters', Type.String({ format: 'password', minLength: 8 }), 'body', [
  ['  12345  ', '  12345  '],
  ['1234\0\n\t5', '1234\0\n\t5'],
  ['🔑'.repeat(7), 'field string_too_short'],
  [12_345_678, 'field string_type'],
  [`${LONE_SURROGATE}12345`, 'field value_error'],
])

table('an e-mail address is trimmed, its domain in lower case', Type.String({ format: 'email' }), 'body', [
  [' Mia.M+x@Example.COM ', 'Mia.M+x@example.com'],
  ['a@b.test', 'a@b.test'],
  ['a@b', 'field value_error'],
  ['a@x.io,b@y.io', 'field value_error'],
  ['"a"@x.io', 'field value_error'],
  ['a..b@x.io', 'field value_error'],
  ['ä@x.io', 'field value_error'],
  [`${'a'.repeat(65)}@x.io`, 'field value_error'],
  ['a@x.io\r\nBcc: b@y.io', 'field value_error'],
  ['a@-x.io', 'field value_error'],
  [7, 'field string_type'],
])

table('a boolean in a body is true or false, and no other value is accepted', Type.Boolean(), 'body', [
  [true, true],
  [false, false],
  ['true', 'field bool_type'],
  [1, 'field bool_type'],
  [null, 'field bool_type'],
])

table('a boolean in a query is a word, in any case', Type.Boolean(), 'query', [
  ...['true', 'TRUE', '1', 'yes', 'On'].map((word): Case => [word, true]),
  ...['false', '0', 'No', 'off'].map((word): Case => [word, false]),
  ...['', 'maybe', '2', ' true', 'truee'].map((word): Case => [word, 'field bool_parsing']),
  [['true', 'true'], 'field value_error'],
])

table('an integer in a path or a query is plain decimal digits', Type.Integer({ minimum: 1, maximum: 100 }), 'query', [
  ['7', 7],
  ['007', 7],
  ['100', 100],
  ['0', 'field greater_than_equal'],
  ['101', 'field less_than_equal'],
  ['9'.repeat(400), 'field less_than_equal'],
  ...['', ' 1', '1 ', '+1', '-1', '1.0', '1e3', '0x10', '٣', 'Infinity', 'NaN', '1_0', 'one'].map(
    (text): Case => [text, 'field int_parsing'],
  ),
  [['1', '2'], 'field value_error'],
])

table('an integer larger than any id is still valid', Type.Integer(), 'path', [
  ['9007199254740993', Number.MAX_SAFE_INTEGER],
  ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
])

table('a UUID has its canonical form, in any case', Type.String({ format: 'uuid' }), 'path', [
  ['0188D0C2-7C5E-7d3a-9f3e-0123456789ab', '0188d0c2-7c5e-7d3a-9f3e-0123456789ab'],
  ['0188d0c27c5e7d3a9f3e0123456789ab', 'field uuid_parsing'],
  ['{0188d0c2-7c5e-7d3a-9f3e-0123456789ab}', 'field uuid_parsing'],
  ['', 'field uuid_parsing'],
])

table('an enum accepts the listed values only', { type: 'string', enum: ['all', 'email'] }, 'query', [
  ['all', 'all'],
  ['ALL', 'field enum'],
  ['', 'field enum'],
  ['toString', 'field enum'],
])

table('issues of a list contain the index of the item', Type.Array(Type.String({ minLength: 1, maxLength: 3 }), { maxItems: 3 }), 'body', [
  [[], []],
  [
    ['a', 'b'],
    ['a', 'b'],
  ],
  [['a', 7, ''], 'field.1 string_type, field.2 string_too_short'],
  [['a', 'b', 'c', 'd'], 'field too_long'],
  ['a', 'field list_type'],
  [{ 0: 'a', length: 1 }, 'field list_type'],
])

test('all issues are reported at once, in the order of the schema, with the messages of Pydantic', () => {
  const parse = compileParser(
    Type.Object({ email: Type.String({ format: 'email' }), password: Type.String({ minLength: 8 }), name: Type.String() }) as RequestSchema,
    'body',
  )
  assert.throws(() => parse({ email: 'x', password: 'short' }), {
    issues: [
      { loc: ['body', 'email'], type: 'value_error', msg: 'value is not a valid email address' },
      { loc: ['body', 'password'], type: 'string_too_short', msg: 'String should have at least 8 characters' },
      { loc: ['body', 'name'], type: 'missing', msg: 'Field required' },
    ],
  })
})

test('a default replaces an omitted field, and null counts as omitted if the field is nullable', () => {
  const parse = compileParser(
    { properties: { size: { type: 'boolean', default: true }, scopes: { type: 'boolean', nullable: true } } } as RequestSchema,
    'body',
  )
  assert.deepEqual(parse({}), { size: true })
  assert.deepEqual(parse({ scopes: null }), { size: true })
  assert.throws(() => parse({ size: null }), {
    issues: [{ loc: ['body', 'size'], type: 'bool_type', msg: 'Input should be a valid boolean' }],
  })
})

test('if at least one field is required, an empty object and unknown fields are refused', () => {
  const parse = compileParser({ properties: { a: Type.String(), b: Type.String() }, atLeastOne: true } as RequestSchema, 'body')
  assert.deepEqual(parse({ b: 'x', c: 'y' }), { b: 'x' })
  for (const input of [{}, { c: 'y' }]) {
    assert.throws(() => parse(input), {
      issues: [{ loc: ['body'], type: 'value_error', msg: 'Value error, at least one of a, b is required' }],
    })
  }
})

test('a keyword that the parser does not implement stops the start', () => {
  for (const field of [Type.String({ pattern: '^a' }), Type.Integer({ multipleOf: 2 }), Type.Array(Type.String(), { uniqueItems: true })]) {
    assert.throws(() => compileParser({ properties: { field } } as RequestSchema, 'query'), /request schemas do not support/)
  }
  assert.throws(() => compileParser({ properties: {}, additionalProperties: false } as RequestSchema, 'body'), /additionalProperties/)
  assert.throws(() => compileParser({ properties: { field: { type: 'string', format: 'ipv4' } } }, 'body'), /format ipv4/)
})

test('for any input, the outcome is a value of the schema or validation issues that repeat nothing of the input', () => {
  const schema = {
    properties: { name: Type.String({ maxLength: 5 }), tags: Type.Array(Type.String()), on: Type.Boolean() },
    required: ['name'],
  }
  const parse = compileParser(schema as RequestSchema, 'body')
  const marker = 'q7Zx'
  const name = fc.oneof(fc.string(), fc.constant(marker), fc.anything())
  const hostile = fc.oneof(
    fc.jsonValue(),
    fc.record(
      { name, tags: fc.oneof(fc.array(fc.oneof(fc.string(), fc.anything())), fc.anything()), on: fc.oneof(fc.boolean(), fc.anything()) },
      { requiredKeys: [] },
    ),
    fc.string().map((text) => ({ name: marker + text, [marker]: text })),
  )
  const outcomes = { valid: 0, invalid: 0 }
  fc.assert(
    fc.property(hostile, (input) => {
      let value: unknown
      try {
        value = parse(input)
      } catch (error) {
        assert.ok(error instanceof InvalidRequest, String(error))
        assert.ok(error.issues.length > 0)
        assert.doesNotMatch(JSON.stringify(error.issues), new RegExp(marker))
        outcomes.invalid++
        return
      }
      // Outside of the catch above, which would take a failed assertion for an error of the parser.
      assertOfSchema(value)
      outcomes.valid++
    }),
    { numRuns: 2000 },
  )
  assert.ok(outcomes.valid > 50 && outcomes.invalid > 50, JSON.stringify(outcomes))
})

/** Checks a value against the schema of the test above, without the parser. */
function assertOfSchema(value: unknown): void {
  assert.ok(typeof value === 'object' && value !== null)
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  const { name, tags, on, ...others } = value as Record<string, unknown>
  assert.deepEqual(others, {})
  assert.ok(typeof name === 'string' && [...name].length <= 5, `name is ${JSON.stringify(name)}`)
  assert.ok(tags === undefined || (Array.isArray(tags) && tags.every((tag) => typeof tag === 'string')), 'tags is a list of strings')
  assert.ok(on === undefined || typeof on === 'boolean', 'on is a boolean')
}

table('an integer in a body is a number without a fraction, within its bounds', Type.Integer({ minimum: 0, maximum: 10 }), 'body', [
  [0, 0],
  [10, 10],
  [-1, 'field greater_than_equal'],
  [11, 'field less_than_equal'],
  [1e300, 'field less_than_equal'],
  [1.5, 'field int_type'],
  ['5', 'field int_type'],
  [true, 'field int_type'],
  [null, 'field int_type'],
  [[5], 'field int_type'],
])

const HALF_PAST_NINE = Date.UTC(2026, 0, 31, 9, 30)

table('a date-time is a date of the calendar with a time and an offset', Type.String({ format: 'date-time' }), 'body', [
  ['2026-01-31T09:30:00Z', HALF_PAST_NINE],
  ['2026-01-31t09:30z', HALF_PAST_NINE],
  ['2026-01-31T10:30:00+01:00', HALF_PAST_NINE],
  ['2026-01-31T04:00:00-0530', HALF_PAST_NINE],
  ['2026-01-31T09:30:00.1239999Z', HALF_PAST_NINE + 123],
  ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
  ['9999-12-31T23:59:59.999Z', Date.UTC(9999, 11, 31, 23, 59, 59, 999)],
  ['9999-12-31T23:59:59-01:00', 'field datetime_parsing'],
  ['2026-02-29T00:00:00Z', 'field datetime_parsing'],
  ['2026-13-01T00:00:00Z', 'field datetime_parsing'],
  ['2026-01-31T24:00:00Z', 'field datetime_parsing'],
  ['2026-01-31T09:30:60Z', 'field datetime_parsing'],
  ['2026-01-31T09:30:00+24:00', 'field datetime_parsing'],
  ['2026-01-31T09:30:00', 'field datetime_parsing'],
  ['2026-01-31', 'field datetime_parsing'],
  ['+012026-01-31T09:30:00Z', 'field datetime_parsing'],
  [' 2026-01-31T09:30:00Z', 'field datetime_parsing'],
  ['tomorrow', 'field datetime_parsing'],
  ['', 'field datetime_parsing'],
  [1769851800, 'field datetime_parsing'],
  [null, 'field datetime_parsing'],
  [['2026-01-31T09:30:00Z'], 'field datetime_parsing'],
])

test('every date that JavaScript writes is read back as the same instant', () => {
  const date = fc.date({ min: new Date('0100-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
  fc.assert(
    fc.property(date, (value) => {
      assert.deepEqual(parseField(Type.String({ format: 'date-time' }), 'body', value.toISOString()), { value: value.getTime() })
    }),
  )
})

test('null removes a field that can be cleared, and counts as given', () => {
  const schema = { properties: { until: { type: 'string', clearable: true } }, atLeastOne: true } as const
  const parse = compileParser(schema, 'body')
  assert.deepEqual(parse({ until: null }), { until: null })
  assert.deepEqual(parse({ until: 'now' }), { until: 'now' })
  assert.throws(() => parse({}), InvalidRequest)
})

const NOTES = { type: 'array', minItems: 1, maxItems: 2, items: { properties: { note: { type: 'string' } }, required: ['note'] } } as const

test('a body may be a list of objects, and each issue names its item', () => {
  const parse = compileParser(NOTES, 'body')
  const issuesOf = (input: unknown) => {
    try {
      return parse(input)
    } catch (error) {
      if (!(error instanceof InvalidRequest)) throw error
      return error.issues.map(({ loc, type }) => [...loc, type].join(' '))
    }
  }
  assert.deepEqual(issuesOf([{ note: 'a', other: 1 }, { note: 'b' }]), [{ note: 'a' }, { note: 'b' }])
  assert.deepEqual(issuesOf([]), ['body too_short'])
  assert.deepEqual(issuesOf([{}, {}, {}]), ['body too_long'])
  assert.deepEqual(issuesOf([{ note: 5 }, {}]), ['body 0 note string_type', 'body 1 note missing'])
  assert.deepEqual(issuesOf([null, 'text']), ['body 0 model_attributes_type', 'body 1 model_attributes_type'])
  assert.deepEqual(issuesOf({ 0: { note: 'a' }, length: 1 }), ['body list_type'])
  assert.deepEqual(issuesOf(null), ['body list_type'])
  assert.deepEqual(issuesOf(undefined), ['body missing'])
})

test('whatever a list is sent, the outcome is a value of the schema or an InvalidRequest', () => {
  const parse = compileParser(NOTES, 'body')
  fc.assert(
    fc.property(fc.jsonValue(), (input) => {
      try {
        const value = parse(input) as { note: string }[]
        assert.ok(value.length >= 1 && value.length <= 2 && value.every((item) => Object.keys(item).join() === 'note'))
      } catch (error) {
        assert.ok(error instanceof InvalidRequest, String(error))
      }
    }),
  )
})
