import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, describeSettings, loadConfig } from '../../../src/config/load.ts'
import { parseLimit, parsePlans, planOf, plansText } from '../../../src/domain/values/plans.ts'

test('PLANS has a name and its limits for each plan, and the first is the default', () => {
  const { plans } = loadConfig({ PLANS: ' free=60/m,1000/d  pro=600/m,100000/d ' })
  assert.ok(plans !== undefined)
  assert.equal(plansText(plans), 'free=60/m,1000/d pro=600/m,100000/d')
  assert.deepEqual(planOf(plans, 'pro').limits[1], { text: '100000/d', unit: 'd', count: 100_000, periodMs: 86_400_000 })
  for (const name of ['free', 'gold', undefined]) assert.equal(planOf(plans, name).name, 'free')
  assert.equal(loadConfig({}).plans, undefined)
  const shown = describeSettings(loadConfig({ PLANS: 'free=60/m' })).find(({ name }) => name === 'PLANS')
  assert.match(JSON.stringify(shown), /free=60\/m/)
})

test('faulty plans stop the start, with a line for each', () => {
  for (const text of [
    'free',
    'free=',
    '=60/m',
    'free=60',
    'free=0/m',
    'free=60/w',
    'free=60/m,',
    'free=60/m,70/m',
    'free=60/m=1/d',
    'free=60/m free=70/m',
    'free=10000000000/d',
    'free!=60/m',
    'free = 60/m',
    `${'a'.repeat(41)}=60/m`,
  ]) {
    const parsed = parsePlans(text)
    assert.ok('problems' in parsed && parsed.problems.length > 0, text)
    assert.throws(
      () => loadConfig({ PLANS: text }),
      (error: unknown) => error instanceof ConfigError && error.errors.every((line) => line.startsWith('PLANS: ')),
    )
  }
  const two = parsePlans('free=x pro=600/m gold=')
  assert.equal('problems' in two && two.problems.length, 2)
})

test('a limit is a number and a unit', () => {
  for (const [text, count, periodMs] of [
    ['1/s', 1, 1000],
    ['60/m', 60, 60_000],
    ['999/h', 999, 3_600_000],
    ['1000000000/d', 1_000_000_000, 86_400_000],
  ] as const) {
    const limit = parseLimit(text)
    assert.deepEqual([limit?.count, limit?.periodMs, limit?.text], [count, periodMs, text])
  }
  for (const text of ['', '1', '1/', '/m', '01/m', '1/M', '1000000001/d', '1.5/m', '-1/m', ' 1/m'])
    assert.equal(parseLimit(text), undefined)
})
