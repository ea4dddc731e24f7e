import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as nodeTest, type TestContext } from 'node:test'
import { type Database, statement } from '../../../src/storage/database.ts'
import { member } from '../../support/app/actors.ts'
import { storedKinds } from '../../support/app/audit.ts'
import { createBrowser, leadsTo } from '../../support/app/provider-browser.ts'
import { startApp, TEST_SECRET } from '../../support/app/start-app.ts'
import { type DatabaseKind, temporaryFolder, test } from '../../support/databases/databases.ts'
import { done, runLatchkey } from '../../support/processes/command-line.ts'
import { type IdentityProvider, startIdentityProvider } from '../../support/servers/identity-provider.ts'

const IDENTITIES = statement<{ connected_at: unknown; user_id: unknown; proven: unknown }>(
  `select identities.*, not exists (select 1 from unproven_accounts where user_id = identities.user_id) as proven
   from identities order by provider, subject`,
)
const MIA = { sub: 'mia Ä', email: 'mia@example.com', email_verified: true, name: 'Mia Muster' }
const KNOWN = { provider: 'acme', issuer: 'https://login.acme.example', subject: 'ada' }

const rowsIn = async (db: Database) =>
  (await db.all(IDENTITIES)).map(({ connected_at, user_id, proven, ...row }) => ({
    ...row,
    connected_at: Number(connected_at),
    user_id: Number(user_id),
    proven: Boolean(proven),
  }))

/** A service that knows the provider, with its command line. */
async function place(t: TestContext, database: DatabaseKind, provider?: IdentityProvider) {
  const env = provider === undefined ? {} : { SIGN_IN_PROVIDERS: 'acme', ...provider.env('acme') }
  const service = await startApp(t, { database, env })
  const { config, db } = service
  const cwd = temporaryFolder(t)
  const url = config.database.kind === 'sqlite' ? `sqlite:${config.database.file}` : config.database.url
  const run = (...args: string[]) => runLatchkey(args, { cwd, env: { DATABASE_URL: url, SECRET_KEY: TEST_SECRET } })
  const importing = (users: readonly object[], ...options: string[]) => {
    const file = join(cwd, 'users.jsonl')
    writeFileSync(file, users.map((user) => `${JSON.stringify(user)}\n`).join(''))
    return run('user', 'import', file, '--from', 'latchkey', ...options)
  }
  const signIn = async (browser = createBrowser(service)) => {
    const begun = leadsTo(await browser.open('/login/with/acme'))
    return leadsTo(await browser.open(provider?.authorize(begun, MIA) ?? assert.fail('no provider')))
  }
  return { ...service, db, run, importing, signIn }
}

nodeTest('accounts of providers move between databases, with and without hashes, and open the same accounts there', async (t) => {
  const provider = await startIdentityProvider(t)
  const first = await place(t, 'sqlite', provider)
  await member(first)
  assert.equal(await first.signIn(), '/account/')
  const original = await rowsIn(first.db)
  assert.equal(original.length, 1)
  let from = first
  for (const [database, options] of [
    ['postgres', ['--with-hashes']],
    ['sqlite', []],
  ] as const) {
    const to = await place(t, database, provider)
    const { stdout } = await from.run('user', 'export', ...options)
    const users = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const [connectedAt = 0] = original.map(({ connected_at }) => connected_at)
    const exported = { provider: 'acme', issuer: provider.url, subject: MIA.sub, email: MIA.email }
    const expected = [{ ...exported, connected_at: new Date(connectedAt).toISOString(), proven: true }]
    assert.deepEqual(
      users.map(({ providers }) => providers),
      [undefined, expected],
    )
    done(await to.importing(users, '--keep-ids'), 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0\n')
    assert.deepEqual(await rowsIn(to.db), original)
    const browser = createBrowser(to)
    assert.equal(await to.signIn(browser), '/account/')
    assert.match((await browser.open('/account/')).body, /mia@example\.com/)
    assert.deepEqual(await rowsIn(to.db), original, 'no new account')
    from = to
  }
})

test('--on-conflict update connects the accounts of the file, once', async (t) => {
  const { db, importing } = await place(t, t.database)
  const ada = { email: 'ada@example.com' }
  await importing([ada])
  for (const user of [{ ...ada, providers: [KNOWN] }, { ...ada, providers: [KNOWN] }, ada])
    done(await importing([user], '--on-conflict', 'update'), 'read 1 = created 0 + updated 1 + skipped 0 + rejected 0\n')
  const [row, ...others] = await rowsIn(db)
  assert.deepEqual(
    [others, { ...row, connected_at: 0, user_id: 0 }],
    [[], { ...KNOWN, email: '', connected_at: 0, user_id: 0, proven: false }],
  )
  const kinds = (await storedKinds(db)).filter((kind) => kind.startsWith('provider.'))
  assert.deepEqual(kinds, [`provider.connected ${row?.user_id}`])
})

test('a file says whether an account of a provider is proven; otherwise that of a verified account is', async (t) => {
  const { db, importing, run } = await place(t, t.database)
  const given = (name: string, verified: boolean, proven?: boolean) => ({
    email: `${name}@example.com`,
    verified,
    providers: [{ ...KNOWN, subject: name, ...(proven !== undefined && { proven }) }],
  })
  const users = [given('a', true), given('b', false), given('c', true, false), given('d', false, true)]
  done(await importing(users), 'read 4 = created 4 + updated 0 + skipped 0 + rejected 0\n')
  const expected = [true, false, false, true]
  assert.deepEqual(
    (await rowsIn(db)).map(({ proven }) => proven),
    expected,
  )
  const exported = (await run('user', 'export')).stdout.trim().split('\n')
  assert.deepEqual(
    exported.map((line) => JSON.parse(line).providers[0].proven),
    expected,
  )
})

test('--on-conflict update: an account of a provider is proven if the account here is verified afterwards', async (t) => {
  const { db, importing } = await place(t, t.database)
  const email = (name: string) => `${name}@example.com`
  await importing(['a', 'b', 'c', 'd'].map((name) => ({ email: email(name), verified: name === 'a' || name === 'b' })))
  const given = (name: string, verified?: boolean) => ({
    email: email(name),
    providers: [{ ...KNOWN, subject: name }],
    ...(verified !== undefined && { verified }),
  })
  const users = [given('a'), given('b', false), given('c'), given('d', true)]
  done(await importing(users, '--on-conflict', 'update'), 'read 4 = created 0 + updated 4 + skipped 0 + rejected 0\n')
  assert.deepEqual(
    (await rowsIn(db)).map(({ proven }) => proven),
    [true, false, false, true],
  )
})

const INVALID: readonly (readonly [unknown, string])[] = [
  ['acme', 'providers: should be'],
  [[5], 'providers[0]: should be an object'],
  [[{ ...KNOWN, subject: undefined }], 'providers[0]: needs provider, issuer and subject'],
  [[{ ...KNOWN, subject: 'a\nb' }], 'providers[0].subject: should be'],
  [[{ ...KNOWN, subject: 'a\ud800b' }], 'providers[0].subject: should be'],
  [[{ ...KNOWN, issuer: 'javascript:alert(1)' }], 'providers[0].issuer: should be'],
  [[{ ...KNOWN, provider: '../x' }], 'providers[0].provider: should be'],
  [[{ ...KNOWN, email: 'nobody' }], 'providers[0].email: should be'],
  [[{ ...KNOWN, connected_at: 'yesterday' }], 'providers[0].connected_at: should be a date'],
  [[{ ...KNOWN, proven: 'perhaps' }], 'providers[0].proven: should be'],
  [Array(21).fill(KNOWN), 'providers: should have at most 20 entries'],
]

test('an account of a provider with the wrong shape rejects the user', async (t) => {
  const { db, importing } = await place(t, t.database)
  const users = INVALID.map(([providers], n) => ({ email: `user-${n}@example.com`, providers }))
  const { code, stdout, stderr } = await importing(users)
  assert.deepEqual([code, stdout], [1, `read ${users.length} = created 0 + updated 0 + skipped 0 + rejected ${users.length}\n`])
  for (const [n, [, reason]] of INVALID.entries()) assert.ok(stderr.includes(`line ${n + 1}: ${reason}`), `${reason}\n${stderr}`)
  assert.deepEqual(await rowsIn(db), [])
})

test('an account of a provider that opens another account rejects the user, also in a dry run', async (t) => {
  const { db, importing } = await place(t, t.database)
  const users = ['ada', 'bob'].map((name) => ({ email: `${name}@example.com`, providers: [KNOWN] }))
  for (const options of [['--dry-run'], []]) {
    const { code, stdout, stderr } = await importing(users, ...options)
    assert.equal(code, 1)
    assert.match(stdout, /read 2 = created 1 \+ updated 0 \+ skipped 0 \+ rejected 1\n$/)
    assert.match(stderr, /line 2: providers: the account at acme belongs to another account/)
  }
  assert.equal((await rowsIn(db)).length, 1)
})
