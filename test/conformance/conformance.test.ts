import assert from 'node:assert/strict'
import { test as plainTest, type TestContext } from 'node:test'
import { TOKENS } from '../../packages/conformance/defects/account-defects.ts'
import { altered, jsonReply, type Plant, startMutatingProxy } from '../../packages/conformance/defects/mutating-proxy.ts'
import { areaOf } from '../../packages/conformance/src/check.ts'
import { ALL_CHECKS } from '../../packages/conformance/src/checks/all-checks.ts'
import { type RunOptions, runConformance } from '../../packages/conformance/src/run.ts'
import { Unusable } from '../../packages/conformance/src/unusable.ts'
import { statement } from '../../src/storage/database.ts'
import { insertUser } from '../../src/storage/repositories/users/user.repository.ts'
import { admin, keyHolder, member } from '../support/app/actors.ts'
import { type ConformingService, startConforming } from '../support/app/conforming-service.ts'
import { until } from '../support/app/eventually.ts'
import { DEV_MAIL_TOKEN } from '../support/app/start-app.ts'
import { temporaryFolder, test } from '../support/databases/databases.ts'
import { json, refusedWith, runLatchkey } from '../support/processes/command-line.ts'
import { type Finished, finished, LATCHKEY, startNode } from '../support/processes/processes.ts'
import { freePort } from '../support/servers/free-port.ts'

type JsonReport = {
  readonly passed: number
  readonly skipped: number
  readonly accounts_created: number
  readonly accounts_left: readonly string[]
  readonly checks: readonly { readonly id: string; readonly outcome: string }[]
}

const COUNT_USERS = statement<{ count: number }>('select count(*) as count from users')
const SET_ADDRESS = statement('update users set email = $1, email_key = $1 where id = $2')
const PATIENCE_MS = 60_000

function run(t: TestContext, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Finished> {
  return runLatchkey(args, { cwd: temporaryFolder(t), env })
}

/** Waits until every table has as many rows as before: mails that wait for their turn are removed in batches. */
async function untilAsBefore(service: ConformingService, before: Awaited<ReturnType<ConformingService['countRows']>>): Promise<void> {
  const describe = async () => JSON.stringify(await service.countRows())
  await until('the removal of all rows', async () => (await describe()) === JSON.stringify(before), PATIENCE_MS)
}

test('conformance: Latchkey passes every check, also the strict ones, and nothing is left behind', async (t) => {
  const service = await startConforming(t)
  const before = await service.countRows()
  const mailbox = t.database === 'sqlite' ? service.mailFolder : `${service.url}?token=${DEV_MAIL_TOKEN}`
  const report = json(await run(t, [...service.args, '--mailbox', mailbox, '--strict', '--json'])) as JsonReport
  assert.deepEqual(
    report.checks.filter(({ outcome }) => outcome !== 'passed'),
    [],
  )
  assert.deepEqual(
    report.checks.map(({ id }) => id),
    ALL_CHECKS.map(({ id }) => id),
  )
  assert.ok(ALL_CHECKS.length >= 150)
  assert.ok(report.accounts_created > 50)
  assert.deepEqual(report.accounts_left, [])
  await untilAsBefore(service, before)
})

plainTest('conformance: without a mailbox, the checks that need one are skipped and named', async (t) => {
  const service = await startConforming(t)
  const before = await service.countRows()
  const { code, stdout, stderr } = await run(t, service.args)
  assert.deepEqual([code, stderr], [0, ''], stdout)
  const skipped = ALL_CHECKS.filter(({ needsMailbox }) => needsMailbox).map(({ id }) => id)
  assert.ok(stdout.includes(`\nskipped (needs a mailbox): ${skipped.join(', ')}\n`), stdout)
  const passed = ALL_CHECKS.length - skipped.length
  assert.match(
    stdout,
    new RegExp(`\\n${passed} passed, 0 failed, 0 differ, ${skipped.length} skipped in [\\d.]+ s; \\d+ accounts created, all removed\\n$`),
  )
  assert.ok(passed > 100)
  await untilAsBefore(service, before)
})

plainTest('conformance: Ctrl+C removes the accounts, and exits with 130', async (t) => {
  const service = await startConforming(t)
  const before = await service.countRows()
  const child = startNode(t, LATCHKEY, [...service.args, '--mailbox', service.mailFolder], { cwd: temporaryFolder(t) })
  child.stdin?.end()
  const ended = finished(child)
  await until('the first accounts', async () => Number((await service.db.first(COUNT_USERS))?.count) > 4, PATIENCE_MS)
  child.kill('SIGINT')
  assert.deepEqual(await ended, {
    code: 130,
    signal: null,
    stdout: '',
    stderr: 'latchkey: interrupted; the accounts of the checks were removed\n',
  })
  await untilAsBefore(service, before)
})

plainTest('conformance: an address, a key or a mailbox that cannot be used is one line, and nothing is checked', async (t) => {
  const service = await startConforming(t)
  const { key: ofMember } = await keyHolder(service, await member(service))
  const before = await service.countRows()
  const dead = `http://127.0.0.1:${await freePort()}`
  const { url, adminKey } = service
  const refusals: readonly (readonly [options: Partial<RunOptions>, line: string])[] = [
    [{ url: dead }, `${dead}: GET /users/search was not answered: nothing is listening at this address`],
    [{ adminKey: 'wrong' }, `--admin-key: ${url} does not accept this key (401, Invalid API key)`],
    [{ adminKey: ofMember }, '--admin-key: this is not the key of an admin (403, Not enough permissions)'],
    [{ url: `${url}/nowhere` }, `${url}/nowhere: there is no GET /users/search below this address (404, Not Found)`],
    [{ mailbox: '/nowhere/at/all' }, '--mailbox: /nowhere/at/all: there is no such folder'],
    [{ mailbox: `${url}/heartbeat` }, `--mailbox: ${url}/heartbeat: it answered 200, and not with a list of mails`],
    [{ mailbox: dead }, `--mailbox: ${dead}/dev/mail: it cannot be reached`],
    [{ mailbox: `${url}?token=wrong` }, `--mailbox: ${url}/dev/mail: it answered 404, and not with a list of mails`],
    [{ only: ['all'] }, `--only: there is no area or check all; the areas are ${[...new Set(ALL_CHECKS.map(areaOf))].join(', ')}`],
  ]
  for (const [options, line] of refusals) await assert.rejects(runConformance({ url, adminKey, ...options }), new Unusable([line]))
  assert.deepEqual(await service.countRows(), before)
  refusedWith(await run(t, ['conformance', dead, '--admin-key', 'env:KEY']), 1, '--admin-key: the environment variable KEY is not set')
  const line = `--admin-key: ${url} does not accept this key (401, Invalid API key)`
  refusedWith(await run(t, ['conformance', url, '--admin-key', 'env:KEY'], { KEY: 'wrong' }), 1, line)
})

plainTest('conformance: a key that cannot remove accounts stops the run after the first one, and names it', async (t) => {
  const service = await startConforming(t)
  const { key } = await keyHolder(service, await admin(service), { access: 'read' })
  const { code, stdout, stderr } = await run(t, ['conformance', service.url, '--admin-key', key])
  assert.deepEqual([code, stdout], [1, ''])
  const address = /conformance-[0-9a-f]+-1@example\.com/.exec(stderr)?.[0]
  assert.equal(
    stderr,
    `latchkey: these accounts could not be removed: ${address}\n` +
      `latchkey: ${service.url}: the account ${address} could not be removed (403 application/json; charset=utf-8 {"detail":"Not enough permissions"}); nothing was checked\n`,
  )
})

/** An implementation that stores every address, also none. */
function storingAnyAddress({ db }: ConformingService): Plant {
  let count = 0
  return async ({ method, path, json }, { forward }) => {
    const reply = await forward()
    if (reply.status !== 422) return reply
    const email = String(json['email'] ?? '')
    if (method === 'POST' && path === '/register/') {
      const lastName = String(json['last_name'] ?? '')
      const user = { firstName: 'Conny', lastName, passwordHash: 'none', role: 'user', verified: false, createdAt: 1 } as const
      await db.transaction((tx) => insertUser(tx, { ...user, email, emailKey: `${email}#${++count}` }))
      return jsonReply(201, TOKENS)
    }
    await db.run(SET_ADDRESS, email, Number(path.split('/').at(-1)))
    return jsonReply(200, { email, first_name: 'Conny', last_name: 'Check' })
  }
}

plainTest('conformance: accounts with invalid addresses, or with none, are removed too', async (t) => {
  const service = await startConforming(t)
  const before = await service.db.first(COUNT_USERS)
  const { adminKey } = service
  const url = await startMutatingProxy(t, service.url, adminKey, storingAnyAddress(service))
  const about = /^(?:register\.(?:email|last-name|first-name)-|edit\.(?:email-invalid|refused-changes-nothing)$)/
  const only = ALL_CHECKS.filter(({ id, needsMailbox, level }) => about.test(id) && !needsMailbox && level === 'specified').map(
    ({ id }) => id,
  )
  const { results, accounts } = await runConformance({ url, adminKey, only })
  assert.deepEqual(
    results.filter(({ outcome }) => outcome !== 'failed').map(({ check }) => check.id),
    [],
  )
  assert.ok(results.length >= 12)
  assert.deepEqual(accounts.left, [])
  assert.deepEqual(await service.db.first(COUNT_USERS), before)
})

plainTest('conformance: what was expected and received is masked, and then shortened', async (t) => {
  const { url: target, adminKey } = await startConforming(t)
  const padding = 'x'.repeat(265)
  const url = await startMutatingProxy(t, target, adminKey, async ({ path, json }, { forward }) => {
    const reply = await forward()
    return path === '/login/' ? altered(reply, { fields: { detail: undefined, padding, password: json['password'] } }) : reply
  })
  const { results } = await runConformance({ url, adminKey, only: ['login.unknown-email'] })
  assert.deepEqual(
    results.map(({ received }) => received),
    [`{"padding":"${padding}","password":"<password…`],
  )
})

plainTest('conformance: control characters of a foreign server are shown escaped, in a refusal and in a report', async (t) => {
  const hostile = '\u001b]0;owned\u0007\u009b2J\u202e\n'
  const shown = '\\x1b]0;owned\\x07\\x9b2J\\u202e'
  const refusing = await startMutatingProxy(t, '', '', async () => jsonReply(401, { detail: hostile }))
  const refused = await run(t, ['conformance', refusing, '--admin-key', 'key'])
  refusedWith(refused, 1, `--admin-key: ${refusing} does not accept this key (401, ${shown}\\x0a)`)

  const { url, adminKey } = await startConforming(t)
  const rewording = await startMutatingProxy(t, url, adminKey, async ({ path }, { forward }) =>
    path === '/heartbeat' ? jsonReply(200, { heartbeat: hostile }) : forward(),
  )
  for (const option of [[], ['--json'], ['--junit']]) {
    const { code, stdout, stderr } = await run(t, ['conformance', rewording, '--admin-key', adminKey, '--only', 'heartbeat', ...option])
    assert.deepEqual([code, stderr], [1, ''])
    assert.match(stdout, /owned/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that control a terminal
    assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  }
})

plainTest('conformance: wrong usage exits with 2', async (t) => {
  const misused = async (line: string, ...args: string[]) => refusedWith(await run(t, ['conformance', ...args]), 2, line)
  await misused("missing required argument 'url'")
  await misused('missing option: --admin-key <key>', 'http://127.0.0.1:1')
  await misused('localhost:8000 should be a URL that begins with http:// or https://', 'localhost:8000', '--admin-key', 'key')
  await misused(
    "option '--json' cannot be used with option '--junit'",
    ...['http://127.0.0.1:1', '--admin-key', 'key', '--json', '--junit'],
  )
})
