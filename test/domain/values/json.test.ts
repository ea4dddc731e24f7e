import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isSmall, isStorable, MAX_LEVELS, MAX_OBJECT_BYTES, mergePatch, parseObject } from '../../../src/domain/values/json.ts'
import { anyText } from '../../support/any-text.ts'

/** The test cases of RFC 7396, appendix A: original, patch, result. */
const EXAMPLES = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  // Section 3.
  [
    '{"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"This will be unchanged"}',
    '{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}',
    '{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged","phoneNumber":"+01-123-456-7890"}',
  ],
] as const

for (const [original, patch, expected] of EXAMPLES)
  test(`RFC 7396: ${original} with ${patch}`, () => {
    assert.equal(JSON.stringify(mergePatch(JSON.parse(original), JSON.parse(patch))), expected)
  })

const names = fc.oneof(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'toString'), anyText({ maxLength: 5 }))
const { value: anyJson } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, 0, 'text'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(names, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
}))
const objects = fc.array(fc.tuple(names, anyJson), { maxLength: 5 }).map((entries): object => Object.fromEntries(entries))

/** MergePatch of RFC 7396, section 2, written with maps. */
function rule(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target)
  const result = new Map<string, unknown>(isObject ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value !== null) result.set(name, rule(result.get(name), value))
    else result.delete(name)
  }
  return Object.fromEntries(result)
}

test('any patch of any value is as the RFC says, changes neither of them, and applied twice is the same as once', () => {
  fc.assert(
    fc.property(anyJson, objects, (target, patch) => {
      const before = JSON.stringify([target, patch])
      const merged = mergePatch(target, patch)
      assert.deepEqual(merged, rule(target, patch))
      assert.deepEqual(mergePatch(merged, patch), merged)
      assert.equal(JSON.stringify([target, patch]), before)
      assert.deepEqual(JSON.parse(JSON.stringify(merged)), merged)
      assert.equal(Object.getPrototypeOf(merged), Object.prototype)
    }),
    { numRuns: 2000 },
  )
})

test('__proto__ is a field like any other and changes no other object', () => {
  const merged = mergePatch(JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"isAdmin":true},"b":{"__proto__":{"c":1}}}'))
  assert.equal(JSON.stringify(merged), '{"__proto__":{"a":1,"isAdmin":true},"b":{"__proto__":{"c":1}}}')
  assert.equal(({} as { isAdmin?: true }).isAdmin, undefined)
  assert.equal((merged as { isAdmin?: true }).isAdmin, undefined)
})

function nested(levels: number, open: string, close: string): unknown {
  return JSON.parse(`${open.repeat(levels)}1${close.repeat(levels)}`)
}

test('depth is limited without following it, and so are numbers that JSON cannot write', () => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    assert.equal(isStorable(nested(MAX_LEVELS, open, close)), true)
    assert.equal(isStorable(nested(MAX_LEVELS + 1, open, close)), false)
    assert.equal(isStorable(nested(30_000, open, close)), false)
  }
  assert.deepEqual(
    ['{"a":1e308}', '{"a":1e309}', '{"a":[-1e999]}'].map((text) => isStorable(JSON.parse(text))),
    [true, false, false],
  )
})

test('the size counts bytes of JSON', () => {
  assert.equal(isSmall({ a: 'x'.repeat(MAX_OBJECT_BYTES - 8) }), true)
  assert.equal(isSmall({ a: 'x'.repeat(MAX_OBJECT_BYTES - 7) }), false)
  assert.equal(isSmall({ a: 'é'.repeat(MAX_OBJECT_BYTES / 2 - 4) }), true)
  assert.equal(isSmall({ a: 'é'.repeat(MAX_OBJECT_BYTES / 2 - 3) }), false)
  assert.deepEqual(['{"a":1}', '[]', 'null', '', '{'].map(parseObject), [{ a: 1 }, undefined, undefined, undefined, undefined])
})
