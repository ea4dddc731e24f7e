import assert from 'node:assert/strict'
import { listApiKeysAfter } from '../../../src/storage/repositories/keys/key.repository.ts'
import { servicesOn, threeAccounts } from '../../support/app/accounts.ts'
import { test } from '../../support/databases/databases.ts'
import { commandLine, done, json, refusedWith } from '../../support/processes/command-line.ts'

test('key create shows a key once, key list never, and key revoke deletes it', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const args = ['key', 'create', 'bob@example.com', '--name', ' ci ', '--scope', 'read', '--scope', 'write', '--json']
  const { key, ...view } = json(await line.run(args)) as { key: string; id: string; created_at: string }
  const details = { prefix: key.slice(0, 9), access: 'full', expires_at: null, last_used_at: null, limit: null, retiring_until: null }
  const specified = { id: '', name: 'ci', created_at: '', is_active: true, scopes: ['read', 'write'] }
  assert.deepEqual({ ...view, id: '', created_at: '' }, { ...specified, ...details })
  const { authentication } = servicesOn(db)
  assert.equal((await authentication.byKey(key)).user.id, 2)

  const [listed] = json(await line.run(['key', 'list', '2', '--json'])) as { last_used_at: string | null }[]
  assert.deepEqual({ ...listed, last_used_at: null }, view)
  const table = (await line.run(['key', 'list', '2'])).stdout.split('\n')
  assert.match(table[0] ?? '', /^ID +NAME +PREFIX +STATE +ACCESS +CREATED +EXPIRES +LAST USED +RETIRING UNTIL +SCOPES$/)
  assert.match(table[1] ?? '', new RegExp(`^${view.id}  ci    ${key.slice(0, 9)}  active  full +${view.created_at} .*  read, write$`))

  refusedWith(await line.run(['key', 'revoke', '1', view.id]), 1, 'there is no such API key')
  const revoked = json(await line.run(['key', 'revoke', '2', view.id.toUpperCase(), '--json'])) as object
  assert.deepEqual({ ...revoked, last_used_at: null }, { ...view, is_active: false, deleted: true })
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
  refusedWith(
    await line.run(['key', 'create', '2', '--name', 'x', '--limit', '10/w']),
    1,
    '--limit: should be a number up to 1,000,000,000 per s, m, h or d, such as 10/m',
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

test('key create takes an access, an expiry and a limit', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const create = (...options: string[]) => line.run(['key', 'create', '2', '--name', 'ci', ...options])
  const key = json(await create('--access', 'read', '--expires-at', '2999-01-01T01:00:00+01:00', '--json')) as Record<string, unknown>
  assert.deepEqual([key['access'], key['expires_at']], ['read', '2999-01-01T00:00:00.000Z'])
  const limited = json(await create('--limit', '10/m', '--json')) as Record<string, unknown>
  assert.equal(limited['limit'], '10/m')
  for (const date of ['2001-01-01T00:00:00Z', '2999-01-01', 'tomorrow'])
    refusedWith(
      await create('--expires-at', date),
      1,
      '--expires-at: should be a date in the future with an offset, such as 2027-01-31T09:30:00Z',
    )
  const unknown = await create('--access', 'write')
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /--access <access>.*Allowed choices are full, read, identify/)
})

test('key rotate shows a new secret once; the former one works for as long as the overlap', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const { authentication } = servicesOn(db)
  const first = json(await line.run(['key', 'create', '2', '--name', 'ci', '--json'])) as { id: string; key: string }
  const rotate = (...options: string[]) => line.run(['key', 'rotate', 'bob@example.com', first.id.toUpperCase(), '--json', ...options])
  const before = Date.now()
  const second = json(await rotate('--overlap', '7d')) as { id: string; key: string; retiring_until: string }
  assert.equal(second.id, first.id)
  const rotatedAt = Date.parse(second.retiring_until) - 7 * 86_400_000
  assert.ok(rotatedAt >= before && rotatedAt <= Date.now(), second.retiring_until)
  for (const { key } of [first, second]) assert.equal((await authentication.byKey(key)).user.id, 2)
  const third = json(await rotate()) as { key: string; retiring_until: null }
  assert.equal(third.retiring_until, null)
  for (const { key } of [first, second]) await assert.rejects(authentication.byKey(key), { code: 'key_invalid' })
  assert.equal((await authentication.byKey(third.key)).user.id, 2)

  for (const overlap of ['31d', '-1', '1.5h', 'soon'])
    refusedWith(await rotate(`--overlap=${overlap}`), 1, '--overlap: should be a time of at most 30 days, such as 90s, 30m, 12h or 7d')
  refusedWith(await line.run(['key', 'rotate', '1', first.id]), 1, 'there is no such API key')
})
