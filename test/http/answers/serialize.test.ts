import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileSerializer } from '../../../src/http/answers/serialize.ts'
import { nullable, Type } from '../../../src/http/validation/schema.ts'

const write = compileSerializer(
  Type.Object({
    id: Type.Integer(),
    name: Type.Optional(Type.String()),
    owner: nullable(Type.Object({ email: Type.String() })),
    scopes: Type.Array(Type.String()),
    keys: Type.Array(Type.Object({ id: Type.String() })),
    detail: Type.Union([Type.String(), Type.Array(Type.Unknown())]),
  }),
)

test('a response has the declared fields in the declared order, optional ones last, and no others, at every depth', () => {
  const value = {
    keys: [{ id: 'a', hash: 'secret' }],
    detail: [{ loc: ['body'] }],
    scopes: ['read'],
    owner: { email: 'mia@x.io', passwordHash: 'secret' },
    passwordHash: 'secret',
    id: 7,
  }
  assert.equal(write(value), '{"id":7,"owner":{"email":"mia@x.io"},"scopes":["read"],"keys":[{"id":"a"}],"detail":[{"loc":["body"]}]}')
})

test('null stays null, and text is escaped as JSON', () => {
  assert.equal(
    write({ id: 1, name: '"\u0000\u2028', owner: null, scopes: [], keys: [], detail: 'x' }),
    '{"id":1,"owner":null,"scopes":[],"keys":[],"detail":"x","name":"\\"\\u0000\u2028"}',
  )
})

test('an integer of any size is written digit by digit, and nothing else in its place', () => {
  const value = { owner: null, scopes: [], keys: [], detail: 'x' }
  assert.match(write({ ...value, id: 9_007_199_254_740_993n }), /^\{"id":9007199254740993,/)
  for (const id of ['7', 1.5, Number.NaN, {}]) assert.throws(() => write({ ...value, id }), /in place of an integer/)
})

test('a response without a required field is an error, and is not sent', () => {
  assert.throws(() => write({ id: 1 }), { message: 'the response lacks owner, which its schema requires' })
})
