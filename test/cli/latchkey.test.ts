import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { test as plainTest } from 'node:test'
import type { Role } from '../../src/model/user.ts'
import { createPasswords } from '../../src/security/password.ts'
import { findUserByEmail, findUserById } from '../../src/storage/repositories/users/user.repository.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { emptyPostgres, temporaryFolder, test } from '../support/databases/databases.ts'
import { commandLine, done, refusedWith, runLatchkey } from '../support/processes/command-line.ts'
import { LATCHKEY, runNode } from '../support/processes/processes.ts'

const MIA = ['--email', 'Mia@Example.com', '--password', 'correct horse', '--first-name', ' Mia ', '--last-name', 'Muster']

for (const [role, flags] of Object.entries({ user: [], admin: ['--admin'] }) as [Role, string[]][]) {
  test(`user create creates a verified ${role}, whose password works, and prints its id`, async (t) => {
    const { run, database } = await commandLine(t)
    done(await run(['user', 'create', ...MIA, ...flags]), '1\n')
    const user = await findUserById(await database(), 1)
    assert.ok(user)
    const { passwordHash, emailVersion: _, resetVersion: __, totp, passkeys, ...rest } = user
    assert.deepEqual(rest, { id: 1, email: 'Mia@example.com', firstName: 'Mia', lastName: 'Muster', role, banned: false, verified: true })
    assert.deepEqual([totp, passkeys], [false, 0])
    assert.equal(await createPasswords().matches('correct horse', passwordHash), true)
  })
}

test('user create reads a password from standard input, which no list of processes shows', async (t) => {
  const { run, database } = await commandLine(t)
  const args = MIA.map((arg) => (arg === 'correct horse' ? '-' : arg))
  done(await run(['user', 'create', ...args], ' a password with spaces \r\nsecond line'), '1\n')
  const user = await findUserByEmail(await database(), 'mia@example.com')
  assert.equal(await createPasswords().matches(' a password with spaces ', user?.passwordHash), true)
})

test('user create refuses an address that is taken, in any case, and changes nothing', async (t) => {
  const { run, database } = await commandLine(t)
  await run(['user', 'create', ...MIA])
  const second = ['--email', 'MIA@example.com', '--password', 'another horse', '--first-name', 'M', '--last-name', 'M', '--admin']
  refusedWith(await run(['user', 'create', ...second]), 1, 'an account with this e-mail address already exists')
  const user = await findUserByEmail(await database(), 'mia@example.com')
  assert.deepEqual([user?.id, user?.role, user?.firstName], [1, 'user', 'Mia'])
})

test('user create reports every validation error at once, and creates nothing', async (t) => {
  const { run, database } = await commandLine(t)
  const bad = ['--email', 'a@x.io,b@y.io', '--password', 'seven77', '--first-name', '  ', '--last-name', 'a\nb']
  refusedWith(
    await run(['user', 'create', ...bad]),
    1,
    '--email: should be an e-mail address',
    '--first-name: should be 1 to 100 characters without control characters',
    '--last-name: should be 1 to 100 characters without control characters',
    '--password: should be 8 to 256 characters',
  )
  assert.equal(await findUserById(await database(), 1), undefined)
})

test('migrate works on an empty database, and again on a migrated one', async (t) => {
  const cwd = temporaryFolder(t)
  const url = t.database === 'sqlite' ? 'sqlite:new/folder/latchkey.db' : await emptyPostgres(t)
  const env = { SECRET_KEY: TEST_SECRET, DATABASE_URL: url }
  const first = await runLatchkey(['migrate'], { cwd, env })
  assert.match(first.stdout, /^applied 0001-accounts\.sql\n(applied [\w.-]+\n)*The database is up to date\.\n$/)
  done(await runLatchkey(['migrate'], { cwd, env }), 'The database is up to date.\n')
})

plainTest('secret generate prints a new value for SECRET_KEY each time', async (t) => {
  const cwd = temporaryFolder(t)
  const [first, second] = await Promise.all([1, 2].map(() => runLatchkey(['secret', 'generate'], { cwd })))
  assert.match(first?.stdout ?? '', /^[\w-]{64}\n$/)
  assert.notEqual(first?.stdout, second?.stdout)
})

plainTest('--version prints the version of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  done(await runNode(t, LATCHKEY, ['--version'], { cwd: temporaryFolder(t) }), `${version}\n`)
})

plainTest('--help lists every command, and the help of a command each of its options', async (t) => {
  const cwd = temporaryFolder(t)
  const help = await runLatchkey(['--help'], { cwd })
  for (const command of ['serve', 'migrate', 'user', 'secret']) assert.match(help.stdout, new RegExp(`^  ${command}\\b`, 'm'))
  const create = await runLatchkey(['user', 'create', '--help'], { cwd })
  for (const option of ['--email', '--password', '--first-name', '--last-name', '--admin'])
    assert.match(create.stdout, new RegExp(`  ${option}\\b`))
  assert.deepEqual([help.code, help.stderr, create.code, create.stderr], [0, '', 0, ''])
})

plainTest('--help, -h and help print the same, for a nested command too', async (t) => {
  const cwd = temporaryFolder(t)
  const [expected, ...others] = await Promise.all(
    [
      ['user', 'ban', '--help'],
      ['user', 'ban', '-h'],
      ['user', 'help', 'ban'],
      ['help', 'user', 'ban'],
    ].map((args) => runLatchkey(args, { cwd })),
  )
  assert.match(expected?.stdout ?? '', /^Usage: latchkey user ban /)
  for (const other of others) assert.deepEqual(other, expected)
  const [whole, asked] = await Promise.all([['--help'], ['help']].map((args) => runLatchkey(args, { cwd })))
  assert.deepEqual(asked, whole)
})

plainTest('output that cannot be written exits with 1; a reader that closes the pipe early does not', async (t) => {
  if (!existsSync('/dev/full')) return t.skip('this system has no /dev/full')
  const cwd = temporaryFolder(t)
  const run = (redirection: string) =>
    spawnSync('sh', ['-c', `"$0" "$1" --help ${redirection}`, process.execPath, LATCHKEY], { cwd, encoding: 'utf8' })
  const full = run('> /dev/full')
  assert.deepEqual([full.status, full.stderr.split('(')[0]], [1, 'latchkey: the output could not be written: the disk is full '])
  assert.deepEqual([run('| true').status, run('| true').stderr], [0, ''])
})

plainTest('a misused command exits with 2 and one line', async (t) => {
  const cwd = temporaryFolder(t)
  const run = (...args: string[]) => runLatchkey(args, { cwd })
  refusedWith(await run('usr'), 2, "unknown command 'usr' (Did you mean user?)")
  refusedWith(await run('user', 'create', ...MIA, '--admn'), 2, "unknown option '--admn' (Did you mean --admin?)")
  refusedWith(await run('user', 'create'), 2, 'missing options: --email <address>, --first-name <name>, --last-name <name>')
  refusedWith(await run('user', 'create', '--first-name', 'A', '--last-name', 'B'), 2, 'missing option: --email <address>')
  refusedWith(await run('key', 'create', '1'), 2, 'missing option: --name <name>')
  refusedWith(await run('help', 'user', 'bann'), 2, "unknown command 'user bann'")
  refusedWith(await run('migrate', 'now'), 2, "too many arguments for 'migrate'. Expected 0 arguments but got 1.")
})

plainTest('invalid settings exit with 1 and a line for each', async (t) => {
  const env = { PORT: 'x', LOG_LEVEL: 'loud' }
  const { code, stdout, stderr } = await runNode(t, LATCHKEY, ['migrate'], { cwd: temporaryFolder(t), env })
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^latchkey: PORT: should be .*\nlatchkey: LOG_LEVEL: should be .*\n$/)
})

plainTest('a database that cannot be reached exits with 1 and one line', async (t) => {
  const env = { SECRET_KEY: TEST_SECRET, DATABASE_URL: 'postgres://user:hunter22@127.0.0.1:1/accounts' }
  const finished = await runLatchkey(['user', 'create', ...MIA], { cwd: temporaryFolder(t), env })
  refusedWith(
    finished,
    1,
    'DATABASE_URL: the PostgreSQL database cannot be used: nothing is listening at its address (connect ECONNREFUSED 127.0.0.1:1)',
  )
})

plainTest('on SQLite, a command loads neither fetch nor TLS, which would double the time of its start', async (t) => {
  const report = 'process.on("exit", () => console.log(process.moduleLoadList.filter((name) => /undici|tls/.test(name)).join()))'
  const nodeFlags = ['--import', `data:text/javascript,${encodeURIComponent(report)}`]
  const { code, stdout } = await runNode(t, LATCHKEY, ['user', 'list', '--json'], { cwd: temporaryFolder(t), nodeFlags })
  assert.deepEqual([code, stdout], [0, '[]\n\n'])
})
