import assert from 'node:assert/strict'
import { createServices } from '../../../src/services.ts'
import { listApiKeysAfter } from '../../../src/storage/repositories/api-key.repository.ts'
import { threeAccounts } from '../../support/app/accounts.ts'
import { TEST_SECRET } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { commandLine, done, json, refusedWith } from '../../support/processes/command-line.ts'

test('key create shows a key once, key list never, and key revoke deletes it', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const args = ['key', 'create', 'bob@example.com', '--name', ' ci ', '--scope', 'read', '--scope', 'write', '--json']
  const { key, ...view } = json(await line.run(args)) as { key: string; id: string; created_at: string }
  assert.deepEqual({ ...view, id: '', created_at: '' }, { id: '', name: 'ci', created_at: '', is_active: true, scopes: ['read', 'write'] })
  const { authentication } = createServices({ db, secrets: [new TextEncoder().encode(TEST_SECRET)], now: Date.now })
  assert.equal((await authentication.byKey(key)).user.id, 2)

  assert.deepEqual(json(await line.run(['key', 'list', '2', '--json'])), [view])
  const table = (await line.run(['key', 'list', '2'])).stdout.split('\n')
  assert.match(table[1] ?? '', new RegExp(`^${view.id}  ci    ${view.created_at}  active  read, write$`))

  refusedWith(await line.run(['key', 'revoke', '1', view.id]), 1, 'there is no such API key')
  assert.deepEqual(json(await line.run(['key', 'revoke', '2', view.id.toUpperCase(), '--json'])), {
    ...view,
    is_active: false,
    deleted: true,
  })
  assert.deepEqual(await listApiKeysAfter(db, 2, 0, 1), { keys: [], last: 0 })
})

test('key create applies the limits of the API', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  refusedWith(
    await line.run(['key', 'create', '2', '--name', ' ', '--scope', 'x'.repeat(101)]),
    1,
    '--scope: should be at most 50 scopes of 1 to 100 characters without control characters',
    '--name: should be 1 to 100 characters without control characters',
  )
  refusedWith(await line.run(['key', 'create', '9', '--name', 'x']), 1, 'there is no such user')
  assert.deepEqual(await listApiKeysAfter(db, 2, 0, 1), { keys: [], last: 0 })
})

test('key disable and key enable switch a key off and on, and say what was done', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const { id } = json(await line.run(['key', 'create', '2', '--name', 'ci', '--json'])) as { id: string }
  const label = `key ${id} (ci) of user 2 (Bob@example.com)`
  const isActive = async () =>
    (json(await line.run(['key', 'list', '2', '--json'])) as { is_active: boolean }[]).map((key) => key.is_active)
  done(await line.run(['key', 'disable', '2', id, '--dry-run']), `would disable ${label}\n`)
  assert.deepEqual(await isActive(), [true])
  done(await line.run(['key', 'disable', '2', id]), `disabled ${label}\n`)
  assert.deepEqual(await isActive(), [false])
  done(await line.run(['key', 'disable', '2', id]), `${label} is already disabled\n`)
  done(await line.run(['key', 'enable', 'bob@example.com', id]), `enabled ${label}\n`)
  assert.deepEqual(await isActive(), [true])
  refusedWith(await line.run(['key', 'disable', '1', id]), 1, 'there is no such API key')
})
