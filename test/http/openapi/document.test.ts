import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { createComponents, sampleOf } from '../../../src/http/openapi/schemas.ts'

test('a schema with a title becomes a component, wherever it is used; one without a title stays inline', () => {
  const { refer, schemas } = createComponents()
  const Word = Type.Object({ text: Type.String() }, { title: 'Word' })
  assert.deepEqual(refer(Type.Array(Word)), { type: 'array', items: { $ref: '#/components/schemas/Word' } })
  assert.deepEqual(refer(Type.Object({ word: Word })), {
    type: 'object',
    required: ['word'],
    properties: { word: { $ref: '#/components/schemas/Word' } },
  })
  assert.deepEqual(refer(Type.Union([Word, Type.String()])), { anyOf: [{ $ref: '#/components/schemas/Word' }, { type: 'string' }] })
  assert.deepEqual(schemas, { Word: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } })
})

test('two different schemas with the same title stop the start', () => {
  const { refer } = createComponents()
  refer(Type.Object({ one: Type.String() }, { title: 'Word' }))
  assert.throws(() => refer(Type.Object({ other: Type.String() }, { title: 'Word' })), {
    message: 'two different schemas have the title Word',
  })
})

test('our own keywords are translated to OpenAPI, or left out', () => {
  const { refer } = createComponents()
  assert.deepEqual(refer(Type.String({ trimmed: true, minLength: 1 })), { type: 'string', minLength: 1 })
  assert.deepEqual(refer(Type.Array(Type.String(), { nullable: true })), { type: ['array', 'null'], items: { type: 'string' } })
  assert.deepEqual(refer({ type: 'object', atLeastOne: true }), { type: 'object', minProperties: 1 })
})

test('a sample is assembled from the examples of its parts; a part without an example stops the start', () => {
  const Name = Type.String({ examples: ['Mia'] })
  const schema = Type.Object({ name: Name, names: Type.Array(Name), kind: Type.Enum(['a', 'b']), is: Type.Literal('x') })
  assert.deepEqual(sampleOf(schema), { name: 'Mia', names: ['Mia'], kind: 'a', is: 'x' })
  assert.throws(() => sampleOf(Type.Object({ name: Type.String() })), /a schema has no example/)
})
