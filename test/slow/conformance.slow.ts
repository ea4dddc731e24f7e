import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACCESS_DEFECTS } from '../../packages/conformance/defects/access-defects.ts'
import { ACCOUNT_DEFECTS } from '../../packages/conformance/defects/account-defects.ts'
import { honest } from '../../packages/conformance/defects/honest-choices.ts'
import { startMutatingProxy } from '../../packages/conformance/defects/mutating-proxy.ts'
import { type Result, runConformance } from '../../packages/conformance/src/run.ts'
import { startConforming } from '../support/app/conforming-service.ts'
import { DEV_MAIL_TOKEN } from '../support/app/start-app.ts'

const DEFECTS = [...ACCOUNT_DEFECTS, ...ACCESS_DEFECTS]
const AT_ONCE = 3

const failedIds = (results: readonly Result[]) => results.filter(({ outcome }) => outcome === 'failed').map(({ check }) => check.id)

test('conformance finds every planted defect, and names the right check', async (t) => {
  const service = await startConforming(t)
  const { url, adminKey } = service
  const before = await service.countRows()
  const found = new Map<string, readonly string[]>()
  const left: string[] = []
  const queue = DEFECTS.values()
  const work = async () => {
    for (const { name, check, plant } of queue) {
      const proxy = await startMutatingProxy(t, url, adminKey, plant())
      const only = [check.slice(0, check.indexOf('.'))]
      const run = await runConformance({ url: proxy, adminKey, mailbox: `${url}?token=${DEV_MAIL_TOKEN}`, only, isStrict: true })
      found.set(name, failedIds(run.results))
      left.push(...run.accounts.left)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  for (const { name, check } of DEFECTS) t.diagnostic(`${name}: ${check} (failed: ${found.get(name)?.join(', ')})`)
  const missed = DEFECTS.filter(({ name, check }) => !found.get(name)?.includes(check)).map(({ name }) => name)
  t.diagnostic(`${DEFECTS.length - missed.length} of ${DEFECTS.length} planted defects were found`)
  assert.deepEqual(missed, [])
  assert.ok(DEFECTS.length >= 50)
  assert.deepEqual(left, [])
  assert.equal((await service.countRows()).users, before.users)
})

test('conformance has no false alarm for an implementation that makes other choices', async (t) => {
  const { url, adminKey } = await startConforming(t)
  const proxy = await startMutatingProxy(t, url, adminKey, honest())
  const { results, accounts } = await runConformance({ url: proxy, adminKey, mailbox: `${url}?token=${DEV_MAIL_TOKEN}` })
  assert.deepEqual(failedIds(results), [])
  assert.deepEqual(
    results.filter(({ outcome }) => outcome === 'skipped'),
    [],
  )
  const differing = results.filter(({ outcome }) => outcome === 'differs').map(({ check }) => check.id)
  t.diagnostic(`differs: ${differing.join(', ')}`)
  assert.ok(differing.length >= 10)
  assert.deepEqual(accounts.left, [])
})
