import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecordStore } from '../../../src/storage/maintenance/record-store.ts'

test('records are found by any of their names, once each and in order, and a name keeps leading to its first record', (t) => {
  const store = createRecordStore<{ readonly n: number }>()
  t.after(store.close)
  store.add([
    { names: ['a', 'b'], value: { n: 1 } },
    { names: ['c'], value: { n: 2 } },
  ])
  store.add([{ names: ['b', 'd'], value: { n: 3 } }])
  assert.deepEqual(store.find(['d', 'b', 'a', 'nobody']), [{ n: 1 }, { n: 3 }])
  assert.deepEqual(store.find(['c']), [{ n: 2 }])
  assert.deepEqual(store.find([]), [])
})
