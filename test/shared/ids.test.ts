import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createId } from '../../src/shared/ids.ts'

const NOW = Date.UTC(2026, 10, 19)

test('an id begins with its time, so that later ones come later, and is a UUID of version 7', () => {
  const id = createId(NOW)
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), NOW)
  assert.ok(createId(NOW + 1) > id)
})

test('a thousand ids of one millisecond differ', () => {
  assert.equal(new Set(Array.from({ length: 1000 }, () => createId(NOW))).size, 1000)
})
