import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counted, countedTime } from '../../src/shared/text.ts'

const HOUR_MS = 3_600_000

test('a noun is in the singular for one only', () => {
  assert.deepEqual([counted(0, 'mail'), counted(1, 'mail'), counted(2, 'mail')], ['0 mails', '1 mail', '2 mails'])
})

test('a length of time is in the largest unit of which there are two or more', () => {
  const texts: [ms: number, text: string][] = [
    [60_000, '1 minute'],
    [20 * 60_000, '20 minutes'],
    [2 * HOUR_MS - 60_000, '119 minutes'],
    [2 * HOUR_MS, '2 hours'],
    [48 * HOUR_MS - 1, '47 hours'],
    [48 * HOUR_MS, '2 days'],
    [45.5 * 24 * HOUR_MS, '45 days'],
  ]
  for (const [ms, text] of texts) assert.equal(countedTime(ms), text)
})
