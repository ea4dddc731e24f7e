import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportingOnce } from '../../src/shared/errors.ts'

test('a failure that lasts is reported once, and again after a success or for another reason', async () => {
  const outcomes = ['down', 'down', 'down', undefined, 'down', 'full', 'full', 'down', undefined]
  const reported: string[] = []
  const left = [...outcomes]
  const run = reportingOnce(
    async () => {
      const reason = left.shift()
      if (reason !== undefined) throw new Error(reason)
    },
    (error) => void reported.push(String(error)),
  )
  const succeeded: boolean[] = []
  for (const _ of outcomes) succeeded.push(await run())
  assert.deepEqual(
    succeeded,
    outcomes.map((reason) => reason === undefined),
  )
  assert.deepEqual(reported, ['Error: down', 'Error: down', 'Error: full', 'Error: down'])
})
