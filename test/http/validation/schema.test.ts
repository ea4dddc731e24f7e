import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type as TypeBox } from 'typebox'
import { Type } from '../../../src/http/validation/schema.ts'

/** The same schemas, built by either library. */
function schemas(type: typeof Type): readonly object[] {
  const name = type.String({ maxLength: 3, description: 'A name.' })
  return [
    type.String(),
    type.Integer({ minimum: 1, default: 1 }),
    type.Boolean({ default: false }),
    type.Array(name, { maxItems: 2 }),
    type.Array(type.Integer()),
    type.Enum(['user', 'admin'], { description: 'A role.' }),
    type.Literal('ok', { description: 'All is well.' }),
    type.Union([type.String(), type.Integer()], { description: 'Either.' }),
    type.Unknown(),
    type.Unsafe<undefined>({ description: 'Nothing.' }),
    type.Object({}),
    type.Object({ name, age: type.Optional(type.Integer()) }, { title: 'Person' }),
    type.Object({ name: type.Optional({ ...name, description: 'Another.' }) }),
  ]
}

test('the schemas are the same as those of TypeBox', () => {
  // Compared as JSON, because TypeBox adds hidden properties that are not part of the schema.
  assert.equal(JSON.stringify(schemas(Type), undefined, 1), JSON.stringify(schemas(TypeBox), undefined, 1))
})
