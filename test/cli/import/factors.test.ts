import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as nodeTest, type TestContext } from 'node:test'
import { generateSecretKey } from '../../../src/security/secret-key.ts'
import { codeAt } from '../../../src/security/totp.ts'
import { type Database, statement } from '../../../src/storage/database.ts'
import { type Actor, member } from '../../support/app/actors.ts'
import { createClock } from '../../support/app/clock.ts'
import { type Enrolled, enrol, signInWithCode, signInWithPasskey, WITH_PASSKEYS } from '../../support/app/factors.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { type DatabaseKind, temporaryFolder, test } from '../../support/databases/databases.ts'
import { done, json, runLatchkey } from '../../support/processes/command-line.ts'

const SECRETS = statement('select user_id, created_at, confirmed_at, last_step, salt from totp_secrets order by user_id')
const CODES = statement('select user_id, code_hash from recovery_codes order by user_id, code_hash')
const PASSKEYS = statement<{ backed_up: unknown }>('select * from passkeys order by id')
const FLAGS = statement<{ totp: unknown; passkeys: unknown }>('select totp, passkeys from users order by id')
const KINDS = statement<{ kind: string }>("select kind from events where kind in ('factor.added', 'passkey.added') order by id")
const SALT = 'c2FsdHNhbHRzYWx0c2FsdA'
const HASH = 'h'.repeat(43)

async function factorsIn(db: Database): Promise<object> {
  return {
    secrets: await db.all(SECRETS),
    codes: await db.all(CODES),
    passkeys: (await db.all(PASSKEYS)).map((row) => ({ ...row, backed_up: Boolean(row.backed_up) })),
    users: (await db.all(FLAGS)).map(({ totp, passkeys }) => [Boolean(totp), Number(passkeys)]),
  }
}

/** The command line of a running service. */
function lineOf(t: TestContext, { config: { database }, env }: TestApp & { env: Readonly<Record<string, string>> }) {
  const url = database.kind === 'sqlite' ? `sqlite:${database.file}` : database.url
  const cwd = temporaryFolder(t)
  return (...args: string[]) => runLatchkey(args, { cwd, env: { ...env, DATABASE_URL: url } })
}

/** A service with a SECRET_KEY of its own. All of them have one clock. */
async function place(t: TestContext, database: DatabaseKind, clock = createClock()) {
  const env = { ...WITH_PASSKEYS, SECRET_KEY: generateSecretKey() }
  const service = { ...(await startApp(t, { database, env, clock })), env }
  return { ...service, run: lineOf(t, service) }
}

async function fileOf(t: TestContext, users: readonly object[]): Promise<string> {
  const file = join(temporaryFolder(t), 'users.jsonl')
  writeFileSync(file, users.map((user) => `${JSON.stringify(user)}\n`).join(''))
  return file
}

type Place = Awaited<ReturnType<typeof place>>

async function signsIn(service: Place, mia: Actor, enrolled: Enrolled, recoveryCode: string): Promise<void> {
  const code = () => codeAt(enrolled.secret, Math.floor(service.clock.now() / 30_000))
  for (const given of [code(), recoveryCode]) {
    const answer = await signInWithCode(service, mia, given)
    assert.equal(answer.statusCode, 200, answer.body)
  }
  assert.equal((await signInWithPasskey(service, enrolled)).statusCode, 200)
  // A code is used up wherever the account goes.
  assert.equal((await signInWithCode(service, mia, code())).statusCode, 401)
  service.clock.advance({ seconds: 30 })
}

nodeTest(
  'codes, recovery codes and passkeys move between databases and SECRET_KEYs, and an account signs in with each of them',
  async (t) => {
    const first = await place(t, 'sqlite')
    const [second, third] = [await place(t, 'postgres', first.clock), await place(t, 'sqlite', first.clock)]
    const mia = await member(first)
    await member(first)
    const enrolled = await enrol(first, mia)
    await signsIn(first, mia, enrolled, enrolled.recoveryCodes[0] ?? '')
    for (const [from, to, recoveryCode] of [
      [first, second, enrolled.recoveryCodes[1]],
      [second, third, enrolled.recoveryCodes[2]],
    ] as const) {
      const file = join(temporaryFolder(t), 'users.jsonl')
      const exported = await from.run('user', 'export', file, '--with-hashes')
      done(exported, `Exported 2 users to ${file}. It contains password hashes and the secrets of second factors: keep it secret.\n`)
      const before = await factorsIn(from.db)
      done(
        await to.run('user', 'import', file, '--from', 'latchkey', '--keep-ids'),
        'read 2 = created 2 + updated 0 + skipped 0 + rejected 0\n',
      )
      assert.deepEqual(await factorsIn(to.db), before)
      assert.deepEqual((before as { users: unknown }).users, [
        [true, 1],
        [false, 0],
      ])
      assert.equal((await to.run('user', 'export', '--with-hashes')).stdout, (await from.run('user', 'export', '--with-hashes')).stdout)
      await signsIn(to, mia, enrolled, recoveryCode ?? '')
    }
  },
)

test('without hashes, an export contains nothing of a second factor', async (t) => {
  const service = await place(t, t.database)
  const { secret, authenticator } = await enrol(service, await member(service))
  const { stdout } = await service.run('user', 'export')
  assert.doesNotMatch(stdout, new RegExp(`totp|passkey|recovery|salt|${secret}|${authenticator.id}`))
})

test('an export ends at codes that no secret opens, rather than lose them', async (t) => {
  const service = await place(t, t.database)
  const mia = await member(service)
  await enrol(service, mia)
  const other = lineOf(t, { ...service, env: { SECRET_KEY: generateSecretKey() } })
  const { code, stderr } = await other('user', 'export', join(temporaryFolder(t), 'users.jsonl'), '--with-hashes')
  assert.equal(code, 1)
  assert.match(stderr, new RegExp(`no secret opens the codes of user ${mia.id} \\(${mia.email}\\): add the former SECRET_KEY`))
  assert.equal((await other('user', 'export')).code, 0)
})

test('--on-conflict update gives an account the codes and further passkeys of the file, once', async (t) => {
  const from = await place(t, t.database)
  const to = await place(t, t.database, from.clock)
  const mia = await member(from)
  const plain = await fileOf(t, [JSON.parse((await from.run('user', 'export', '--with-hashes')).stdout)])
  await to.run('user', 'import', plain, '--from', 'latchkey')
  const enrolled = await enrol(from, mia)
  const file = join(temporaryFolder(t), 'users.jsonl')
  await from.run('user', 'export', file, '--with-hashes')
  const update = (name: string) => to.run('user', 'import', name, '--from', 'latchkey', '--on-conflict', 'update')
  done(await update(file), 'read 1 = created 0 + updated 1 + skipped 0 + rejected 0\n')
  const kinds = async () => (await to.db.all(KINDS)).map(({ kind }) => kind)
  assert.deepEqual(await kinds(), ['factor.added', 'passkey.added'])
  await signsIn(to, mia, enrolled, enrolled.recoveryCodes[0] ?? '')
  const before = await factorsIn(to.db)
  // The same file again gives no used code back; a file without a second factor takes none away.
  for (const name of [file, plain]) assert.equal((await update(name)).code, 0)
  assert.deepEqual([await factorsIn(to.db), await kinds()], [before, ['factor.added', 'passkey.added']])
  const other = await fileOf(t, [{ email: mia.email, totp: { secret: 'JBSWY3DPEHPK3PXP' } }])
  assert.equal((await update(other)).code, 0)
  const answer = await signInWithCode(to, mia, codeAt('JBSWY3DPEHPK3PXP', Math.floor(to.clock.now() / 30_000)))
  assert.equal(answer.statusCode, 200, answer.body)
  assert.deepEqual([(await to.db.all(CODES)).length, await kinds()], [0, ['factor.added', 'passkey.added', 'factor.added']])
})

const TOTP = { secret: 'JBSWY3DPEHPK3PXP', salt: SALT, recovery_codes: [HASH] }
const PASSKEY = { credential_id: 'Y3JlZGVudGlhbA', public_key: 'cHVibGlj' }
const INVALID: readonly (readonly [object, string])[] = [
  [{ totp: 'JBSWY3DPEHPK3PXP' }, 'totp: should be an object'],
  [{ totp: {} }, 'totp.secret: is missing'],
  [{ totp: { ...TOTP, secret: 'jbswy3dpehpk3pxp' } }, 'totp.secret: should be 16 to 128 letters and digits of base32'],
  [{ totp: { ...TOTP, secret: 'JBSWY3DPEHPK3PX' } }, 'totp.secret: should be 16'],
  [{ totp: { ...TOTP, salt: undefined } }, 'totp.salt: is missing, which the recovery codes need'],
  [{ totp: { ...TOTP, salt: 'short' } }, 'totp.salt: should be'],
  [{ totp: { ...TOTP, recovery_codes: ['abcde-fghij'] } }, 'totp.recovery_codes[0]: should be 43 to 43 characters of base64url'],
  [{ totp: { ...TOTP, last_step: -1 } }, 'totp.last_step: should be a whole number up to 10000000000'],
  [{ totp: { ...TOTP, confirmed_at: 'yesterday' } }, 'totp.confirmed_at: should be a date'],
  [{ passkeys: [5] }, 'passkeys[0]: should be an object'],
  [{ passkeys: [{ ...PASSKEY, public_key: undefined }] }, 'passkeys[0]: needs credential_id and public_key'],
  [{ passkeys: [{ ...PASSKEY, credential_id: 'a b' }] }, 'passkeys[0].credential_id: should be'],
  [{ passkeys: [{ ...PASSKEY, counter: 2 ** 32 }] }, 'passkeys[0].counter: should be a whole number up to 4294967295'],
  [{ passkeys: [{ ...PASSKEY, transports: ['USB!'] }] }, 'passkeys[0].transports[0]: should be the name of a transport'],
  [{ passkeys: Array(21).fill(PASSKEY) }, 'passkeys: should have at most 20 entries'],
]

test('a second factor of the wrong shape rejects the user, and the reason contains no secret', async (t) => {
  const { run, db } = await place(t, t.database)
  const users = INVALID.map(([given], n) => ({ email: `user-${n}@example.com`, ...given }))
  const { code, stdout, stderr } = await run('user', 'import', await fileOf(t, users), '--from', 'latchkey')
  assert.equal(code, 1)
  assert.equal(stdout, `read ${users.length} = created 0 + updated 0 + skipped 0 + rejected ${users.length}\n`)
  for (const [n, [, reason]] of INVALID.entries()) assert.ok(stderr.includes(`line ${n + 1}: ${reason}`), `${reason}\n${stderr}`)
  assert.doesNotMatch(stderr, /JBSWY|jbswy/)
  assert.equal((await db.all(FLAGS)).length, 0)
})

test('a passkey that another account has rejects the user, also in a dry run', async (t) => {
  const { run, db } = await place(t, t.database)
  const users = ['ada', 'bob'].map((name) => ({ email: `${name}@example.com`, passkeys: [PASSKEY] }))
  const file = await fileOf(t, users)
  for (const options of [['--dry-run'], []]) {
    const { code, stdout, stderr } = await run('user', 'import', file, '--from', 'latchkey', ...options)
    assert.equal(code, 1)
    assert.match(stdout, /read 2 = created 1 \+ updated 0 \+ skipped 0 \+ rejected 1\n$/)
    assert.match(stderr, /line 2: passkeys: the passkey \S+ belongs to another account/)
  }
  assert.equal((await db.all(PASSKEYS)).length, 1)
})

test('the bulk schema of Auth0 brings the secret of an app; its other factors are named', async (t) => {
  const { run, db } = await place(t, t.database)
  const file = await fileOf(t, [
    { email: 'ada@example.com', mfa_factors: [{ phone: { value: '+15551112233' } }, { totp: { secret: 'JBSWY3DPEHPK3PXP' } }] },
    { email: 'bob@example.com', email_verified: true },
  ])
  const { code, stdout, stderr } = await run('user', 'import', file, '--from', 'auth0')
  assert.deepEqual([code, stdout], [0, 'read 2 = created 2 + updated 0 + skipped 0 + rejected 0\n'])
  assert.match(stderr, /not imported: "mfa_factors.phone\S*" \(1 user\)/)
  assert.deepEqual(
    (await db.all(FLAGS)).map(({ totp }) => Boolean(totp)),
    [true, false],
  )
  const shown = json(await run('user', 'show', 'ada@example.com', '--json')) as { second_factor: object }
  assert.deepEqual(shown.second_factor, { totp: true, passkeys: 0, recovery_codes: 0 })
})
