import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text as readAll } from 'node:stream/consumers'
import { test as plainTest, type TestContext } from 'node:test'
import postgres from 'postgres'
import { SMTPServer } from 'smtp-server'
import { report } from '../../../src/cli/commands/doctor.commands.ts'
import { examine } from '../../../src/cli/doctor/examine.ts'
import { checkDisk } from '../../../src/cli/doctor/file.checks.ts'
import { type Finding, inTime } from '../../../src/cli/doctor/finding.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { statement } from '../../../src/storage/database.ts'
import { migrate, openDatabase } from '../../../src/storage/open.ts'
import { insertUser } from '../../../src/storage/repositories/user.repository.ts'
import { TEST_SECRET } from '../../support/app/start-app.ts'
import { emptyPostgres, freshDatabase, temporaryFolder, test } from '../../support/databases/databases.ts'
import { startMain } from '../../support/processes/main-process.ts'
import { LATCHKEY, runNode } from '../../support/processes/processes.ts'
import { makeCertificate } from '../../support/servers/certificates.ts'
import { closedPort, startRawPeer, startSmtpPeer } from '../../support/servers/smtp-peer.ts'

/** What a check has to say, but for those that find nothing. */
function complaints(findings: readonly Finding[], check: string): string[] {
  for (const { verdict, advice } of findings) assert.equal(advice === undefined, verdict === 'ok', 'a complaint says what to do')
  return findings
    .filter((finding) => finding.check === check && finding.verdict !== 'ok')
    .map(({ verdict, message }) => `${verdict}: ${message}`)
}

async function webServer(t: TestContext, answer: RequestListener): Promise<{ url: string; port: number }> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, port }
}

/** Settings for a sound SQLite service in a folder of its own. */
async function soundPlace(t: TestContext) {
  const folder = join(temporaryFolder(t), 'data')
  const file = join(folder, 'latchkey.db')
  await migrate({ kind: 'sqlite', file })
  return { folder, file, env: { DATABASE_URL: `sqlite:${file}`, SECRET_KEY: TEST_SECRET, PORT: '0' } }
}

plainTest('doctor finds nothing wrong with a service that runs well, and ends with 0', async (t) => {
  const cwd = temporaryFolder(t)
  const certificate = makeCertificate(t)
  if (certificate === undefined) return t.skip('openssl is not installed')
  const mail = await startSmtpPeer(t, { login: { user: 'me', password: 'p@ss word' }, tls: { ...certificate, fromTheStart: false } })
  const admin = { ADMIN_EMAIL: 'ada@example.com', ADMIN_PASSWORD: 'a good password' }
  const smtp = { SMTP_URL: `smtp://me:p%40ss%20word@localhost:${mail.port}`, MAIL_FROM: 'Us <us@example.com>' }
  const { url, port } = await startMain(t, { cwd, env: admin })
  const env = { ...admin, ...smtp, PORT: String(port), BASE_URL: url, NODE_EXTRA_CA_CERTS: certificate.certFile }
  const { code, stdout, stderr } = await runNode(t, LATCHKEY, ['doctor', '--json'], { cwd, env })
  assert.equal(stderr, '')
  const findings = JSON.parse(stdout) as Finding[]
  const verdicts = Object.fromEntries(findings.map(({ check, verdict }) => [check, verdict]))
  assert.deepEqual(verdicts, {
    settings: 'ok',
    secret: 'ok',
    files: 'ok',
    disk: 'ok',
    database: 'ok',
    schema: 'ok',
    admins: 'ok',
    outbox: 'ok',
    smtp: 'ok',
    port: 'ok',
    // The second of two findings about it; the first is below.
    'base url': 'ok',
    clock: 'ok',
    frontend: 'ok',
  })
  assert.deepEqual(complaints(findings, 'base url'), [`fault: ${url} is where the links in mails lead: to the reader's own machine`])
  assert.equal(code, 1)
  const withoutMail = await runNode(t, LATCHKEY, ['doctor'], { cwd, env: { ...admin, PORT: String(port), BASE_URL: url } })
  assert.equal(withoutMail.code, 0)
  assert.match(withoutMail.stdout, /\n\n0 faults, 1 warning\n$/)
  assert.equal(withoutMail.stdout.includes('\u001b'), false)
})

plainTest('doctor tells every fault of the settings, a weak secret included, and repeats no secret', async () => {
  const findings = await examine({ PORT: 'x', SECRET_KEY: 'change-me-change-me-change-me-change-me' })
  assert.deepEqual(complaints(findings, 'settings'), [
    'fault: PORT: should be a whole number from 0 to 65535, is "x"',
    'fault: SECRET_KEY: is a sample or can be guessed; make one with `npm run latchkey -- secret generate`',
  ])
})

plainTest('doctor sees a kept secret that is none, and files that other users may read or replace', async (t) => {
  const { folder, file } = await soundPlace(t)
  const secret = join(folder, 'secret.key')
  writeFileSync(secret, 'short\n', { mode: 0o644 })
  chmodSync(file, 0o640)
  chmodSync(folder, 0o770)
  const findings = await examine({ DATABASE_URL: `sqlite:${file}`, PORT: '0' })
  assert.deepEqual(complaints(findings, 'secret'), [`fault: what ${secret} holds should be at least 32 bytes, has 5`])
  assert.deepEqual(complaints(findings, 'files'), [
    `fault: ${file} is open to other users of this machine (mode 640)`,
    `fault: ${secret} is open to other users of this machine (mode 644)`,
    `fault: other users may put files into ${folder} (mode 770)`,
  ])
})

plainTest('doctor sees a .env that other users may read', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, '.env'), 'PORT=0\n', { mode: 0o644 })
  const { code, stdout } = await runNode(t, LATCHKEY, ['doctor'], { cwd })
  assert.equal(code, 1)
  assert.match(stdout, /^fault {4}files {5}\.env is open to other users of this machine \(mode 644\)\n {19}→ chmod 600 \.env\n/m)
})

plainTest('doctor gives no advice about a folder or a place for everybody that would harm other programs', async (t) => {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o1777)
  const shared = await examine({ DATABASE_URL: `sqlite:${folder}/latchkey.db`, PORT: '0' })
  assert.deepEqual(
    shared.filter(({ check }) => check === 'files').map(({ advice }) => advice),
    ['Keep the database in a folder of its own: this one is for everybody.'],
  )
  const [, ...parts] = folder.split('/')
  chmodSync(folder, 0o777)
  const mistaken = await examine({ DATABASE_URL: `sqlite:/${parts.join('/')}`, PORT: '0' })
  assert.ok(mistaken.every(({ advice }) => !advice?.endsWith(`chmod 600 ${folder}`)))
  assert.deepEqual(complaints(mistaken, 'database'), [
    `fault: DATABASE_URL: the SQLite file ${folder} cannot be used: it is a folder (not a file)`,
  ])
})

plainTest('doctor sees a place where no database can be made, and one that this user may not write', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'file'), '')
  const below = await examine({ DATABASE_URL: `sqlite:${folder}/file/latchkey.db`, PORT: '0' })
  assert.match(complaints(below, 'database')[0] ?? '', /^fault: .* cannot be used: a part of its path is a file/)
  const { file, folder: data } = await soundPlace(t)
  chmodSync(join(data, '..'), 0o755)
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined
  const doctorAt = async (modes: readonly [number, number]) => {
    chmodSync(data, modes[0])
    chmodSync(file, modes[1])
    const env = { DATABASE_URL: `sqlite:${file}`, SECRET_KEY: TEST_SECRET, PORT: '0' }
    const { code, stdout } = await runNode(t, LATCHKEY, ['doctor', '--json'], { cwd: '/', env, ...(account && { account }) })
    chmodSync(data, 0o700)
    return { code, found: complaints(JSON.parse(stdout), 'database')[0] ?? '' }
  }
  for (const modes of [
    [0o755, 0o444],
    [0o555, 0o666],
    [account ? 0o700 : 0o000, 0o600],
  ] as const) {
    const { code, found } = await doctorAt(modes)
    assert.equal(code, 1)
    assert.match(found, /^fault: DATABASE_URL: the SQLite file .* cannot be used: this user may not write there/)
  }
})

plainTest('doctor sees a PostgreSQL database of another encoding, and one where its user may make nothing', async (t) => {
  const inspect = async (url: string) => complaints(await examine({ DATABASE_URL: url, SECRET_KEY: TEST_SECRET, PORT: '0' }), 'database')
  const [encoding = ''] = await inspect(await emptyPostgres(t, 'SQL_ASCII'))
  assert.match(encoding, /^fault: PostgreSQL \S+ cannot be used: its encoding is SQL_ASCII and should be UTF8$/)
  const url = await emptyPostgres(t)
  const role = `weak_${randomUUID().replaceAll('-', '')}`
  const sql = postgres(url, { max: 1 })
  await sql.unsafe(`create role ${role} login`)
  const [weak = ''] = await inspect(url.replace('//postgres@', `//${role}@`))
  await sql.unsafe(`drop role ${role}`)
  await sql.end()
  assert.match(weak, /^fault: PostgreSQL \S+ cannot be used: its user may not make tables there$/)
})

plainTest('doctor sees a disk that is full or nearly so', (t) => {
  const config = loadConfig({ DATABASE_URL: `sqlite:${temporaryFolder(t)}/not/yet/there.db` })
  const verdictAt = (bytes: number) => checkDisk(config, () => bytes).map(({ verdict }) => verdict)
  assert.deepEqual([10_000_000, 100_000_000, 1_000_000_000].map(verdictAt), [['fault'], ['warning'], ['ok']])
})

test('doctor sees a database that is not there, not migrated, or of a newer version', async (t) => {
  const url = t.database === 'sqlite' ? `sqlite:${temporaryFolder(t)}/new.db` : await emptyPostgres(t)
  const env = { DATABASE_URL: url, SECRET_KEY: TEST_SECRET, PORT: '0' }
  const [missing = ''] = complaints(await examine(env), 'database')
  assert.match(
    missing,
    t.database === 'sqlite' ? /^warning: there is none yet$/ : /^warning: PostgreSQL 18\S* answers; to be applied: 0001-/,
  )
  const target = loadConfig(env).database
  await migrate(target)
  assert.deepEqual(complaints(await examine(env), 'database'), [])
  const db = await openDatabase(target)
  await db.run(NEWER)
  await db.close()
  assert.match(complaints(await examine(env), 'database')[0] ?? '', /^fault: DATABASE_URL: .* newer version of Latchkey/)
})

// Declared before any database is opened.
const NEWER = statement("insert into schema_migrations (name, checksum, applied_at) values ('9999-later.sql', 'x', 1)")
const UNABLE = statement("update users set banned = true where role = 'admin'")
const ADD_MAIL = statement('insert into outbox (kind, recipient, requested_at, due_at, failed_at) values ($1, $2, $3, $3, $4)')

plainTest('doctor sees a database that is damaged, cannot be reached or can only be read', async (t) => {
  const { file, env } = await soundPlace(t)
  writeFileSync(file, 'nonsense'.repeat(2000))
  assert.match(complaints(await examine(env), 'database')[0] ?? '', /^fault: DATABASE_URL: the SQLite file .* file is not a database$/)
  const away = { ...env, DATABASE_URL: `postgres://me:hunter22@127.0.0.1:${await closedPort(t)}/x` }
  const [refused = ''] = complaints(await examine(away), 'database')
  assert.match(refused, /^fault: DATABASE_URL: the PostgreSQL database cannot be used: nothing listens at its address/)
  assert.doesNotMatch(refused, /hunter22/)
  const silent = await startRawPeer(t, () => undefined)
  const hung = complaints(await examine({ ...env, DATABASE_URL: `postgres://me@127.0.0.1:${silent.port}/x` }), 'database')
  assert.match(hung[0] ?? '', /^fault: /)
  const url = await emptyPostgres(t)
  const database = new URL(url).pathname.slice(1)
  const sql = postgres(url, { max: 1 })
  await sql.unsafe(`alter database ${database} set default_transaction_read_only = on`)
  await sql.end()
  assert.match(complaints(await examine({ ...env, DATABASE_URL: url }), 'database')[0] ?? '', /^fault: PostgreSQL \S+ is read-only/)
})

test('doctor finds a trigger that was planted in the database', async (t) => {
  const target = t.database === 'sqlite' ? await freshDatabase(t, 'sqlite') : { kind: 'postgres' as const, url: await emptyPostgres(t) }
  await migrate(target)
  const env = { SECRET_KEY: TEST_SECRET, PORT: '0', DATABASE_URL: target.kind === 'sqlite' ? `sqlite:${target.file}` : target.url }
  assert.deepEqual(complaints(await examine(env), 'schema'), [])
  if (target.kind === 'sqlite') {
    const connection = new DatabaseSync(target.file)
    connection.exec("create trigger promote after insert on sessions begin update users set role = 'admin'; end")
    connection.close()
    assert.deepEqual(complaints(await examine(env), 'schema'), ['fault: trigger promote is not part of Latchkey'])
  } else {
    const sql = postgres(target.url, { max: 1 })
    await sql.unsafe("create rule promote as on insert to sessions do also update users set role = 'admin'")
    await sql.end()
    assert.deepEqual(complaints(await examine(env), 'schema'), ['fault: rule promote of sessions is not part of Latchkey'])
  }
})

test('doctor sees that there is no admin, or none who can log in, and mails that wait or have failed', async (t) => {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const env = { SECRET_KEY: TEST_SECRET, PORT: '0', DATABASE_URL: target.kind === 'sqlite' ? `sqlite:${target.file}` : target.url }
  const db = await openDatabase(target)
  t.after(() => db.close())
  const empty = await examine(env)
  assert.deepEqual([complaints(empty, 'admins'), complaints(empty, 'outbox')], [['warning: there is none'], []])
  const names = { firstName: 'Ada', lastName: 'A', passwordHash: 'none', role: 'admin', verified: true, createdAt: 1 } as const
  await db.transaction((tx) => insertUser(tx, { ...names, email: 'ada@example.com', emailKey: 'ada@example.com' }))
  const now = Date.now()
  await db.run(ADD_MAIL, 'verify', 'a@example.com', now - 60_000, null)
  const good = await examine(env)
  assert.deepEqual([complaints(good, 'admins'), complaints(good, 'outbox')], [[], []])
  await db.run(UNABLE)
  await db.run(ADD_MAIL, 'reset', 'a@example.com', now - 1_200_000, null)
  await db.run(ADD_MAIL, 'verify', 'b@example.com', 1, 2)
  const bad = await examine(env)
  assert.deepEqual(complaints(bad, 'admins'), ['fault: none of 1 can log in: banned, or not verified'])
  assert.deepEqual(complaints(bad, 'outbox'), ['fault: 2 mails wait, the oldest for 20 minutes', 'warning: 1 mail could not be delivered'])
})

test('doctor sees a clock that differs from that of the database server', async (t) => {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const env = { SECRET_KEY: TEST_SECRET, PORT: '0', DATABASE_URL: target.kind === 'sqlite' ? `sqlite:${target.file}` : target.url }
  const found = complaints(await examine(env, { now: () => Date.now() - 3_600_000 }), 'clock')
  // SQLite has the clock of this machine.
  assert.deepEqual(
    found.map((line) => line.replace(/\d+/, 'N')),
    t.database === 'sqlite' ? [] : ['fault: N seconds behind the database server'],
  )
})

plainTest('doctor sees a mail server that is away, silent, or refuses us, and says nothing of the password', async (t) => {
  const { env } = await soundPlace(t)
  const smtp = async (url: string, sendTo?: string) =>
    complaints(await examine({ ...env, MAIL_FROM: 'us@example.com', BASE_URL: 'https://localhost:1', SMTP_URL: url }, { sendTo }), 'smtp')
  assert.match(
    (await smtp(`smtp://localhost:${await closedPort(t)}`))[0] ?? '',
    /^fault: the mail server cannot be used: no answer: connect/,
  )
  const silent = await startRawPeer(t, () => undefined)
  assert.match((await smtp(silent.url))[0] ?? '', /^fault: the mail server cannot be used: no answer: Greeting never received/)
  const strict = await startSmtpPeer(t, { login: { user: 'me', password: 'right' }, refuseRecipient: () => '550 no such user' })
  const wrong = await smtp(`smtp://me:hunter22@localhost:${strict.port}?tls=none`)
  assert.deepEqual(wrong, ['fault: the mail server cannot be used: AUTH PLAIN was answered: 535'])
  const clear = await smtp(`smtp://me:right@localhost:${strict.port}`)
  assert.match(clear[0] ?? '', /^fault: the mail server cannot be used: STARTTLS was answered: 5.*the server does not encrypt/)
  const refused = await smtp(`smtp://me:right@localhost:${strict.port}?tls=none`, 'nobody@example.com')
  assert.match(refused[1] ?? '', /^fault: the mail server cannot be used: RCPT TO was answered: 550/)
  const none = await examine(env, { sendTo: 'ada@example.com' })
  assert.deepEqual(complaints(none, 'smtp'), ['fault: no mail server is set, so that no mail can be sent'])
  const local = await examine({ ...env, SMTP_URL: `smtp://me:right@localhost:${strict.port}?tls=none` })
  assert.deepEqual(complaints(local, 'smtp')[0], 'warning: MAIL_FROM is noreply@localhost, which most servers refuse')
})

plainTest('doctor warns when mail travels in clear text', async (t) => {
  const { env } = await soundPlace(t)
  const smtp = async (url: string) => complaints(await examine({ ...env, MAIL_FROM: 'us@example.com', SMTP_URL: url }), 'smtp')
  const open = await startSmtpPeer(t)
  assert.deepEqual(await smtp(open.url), ['warning: mails and their links travel to the mail server in clear text'])
  assert.deepEqual(await smtp(`${open.url}?tls=none`), ['warning: mails and their links travel to the mail server in clear text'])
  const strict = await startSmtpPeer(t, { login: { user: 'me', password: 'right' } })
  assert.deepEqual(await smtp(`smtp://me:right@localhost:${strict.port}?tls=none`), [
    'warning: mails, their links and the password of SMTP_URL travel to the mail server in clear text',
  ])
})

plainTest('doctor --send-to delivers one test mail to that address', async (t) => {
  const { env } = await soundPlace(t)
  const taken: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData: (stream, _session, callback) => {
      void readAll(stream).then((mail) => {
        taken.push(mail)
        callback()
      })
    },
  })
  const listener = server.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.after(() => new Promise<void>((done) => server.close(done)))
  const { port } = listener.address() as { port: number }
  const smtp = { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'Us <us@example.com>', BASE_URL: 'https://localhost:1' }
  const findings = await examine({ ...env, ...smtp }, { sendTo: 'ada@example.com' })
  assert.deepEqual(complaints(findings, 'smtp'), ['warning: mails and their links travel to the mail server in clear text'])
  assert.deepEqual(
    [taken.length, /^To: ada@example\.com\r$/m.test(taken[0] ?? ''), /^Subject: Test mail from Latchkey\r$/m.test(taken[0] ?? '')],
    [1, true, true],
  )
  const { code, stderr } = await runNode(t, LATCHKEY, ['doctor', '--send-to', 'a@x.io,b@y.io'], { cwd: temporaryFolder(t) })
  assert.deepEqual([code, stderr], [1, 'latchkey: --send-to: should be an e-mail address\n'])
})

plainTest('doctor sees a port that another program has, and addresses that lead nowhere or elsewhere', async (t) => {
  const { env } = await soundPlace(t)
  const other = await webServer(t, (_request, response) => response.writeHead(404).end('not here'))
  const closed = await closedPort(t)
  const taken = await examine({ ...env, PORT: String(other.port), BASE_URL: other.url })
  assert.deepEqual(complaints(taken, 'port'), [`fault: another program has port ${other.port} on 127.0.0.1`])
  assert.deepEqual(complaints(taken, 'base url'), [`fault: ${other.url} leads somewhere else: /heartbeat was answered with 404`])
  const stopped = await examine({ ...env, PORT: String(closed) })
  assert.deepEqual(complaints(stopped, 'port'), [`warning: nothing listens on 127.0.0.1, port ${closed}`])
  assert.match(complaints(stopped, 'base url')[0] ?? '', /^warning: http:\/\/localhost:\d+ cannot be reached from here: /)
  const plain = complaints(await examine({ ...env, BASE_URL: 'http://accounts.invalid' }), 'base url')
  assert.equal(plain[0], 'warning: http://accounts.invalid is not encrypted')
  assert.match(plain[1] ?? '', /^fault: http:\/\/accounts\.invalid cannot be reached from here: /)
  const unencrypted = complaints(await examine({ ...env, BASE_URL: other.url.replace('http:', 'https:') }), 'base url')
  assert.match(unencrypted[0] ?? '', /^fault: https:\S+ cannot be reached from here: TLS is not spoken there$/)
  const early = await webServer(t, (_request, response) =>
    response.writeHead(200, { date: new Date(Date.now() + 3_600_000).toUTCString() }).end('{"status":"ok"}'),
  )
  assert.match(complaints(await examine({ ...env, BASE_URL: early.url }), 'clock')[0] ?? '', /^fault: 3\d{3} seconds behind http/)
})

plainTest('doctor sees a frontend that is away or has no page for a new password', async (t) => {
  const { env } = await soundPlace(t)
  const page = await webServer(t, (request, response) => response.writeHead(request.url === '/app/reset-password' ? 200 : 404).end())
  const frontend = async (url: string) => complaints(await examine({ ...env, FRONTEND_URL: url }), 'frontend')
  assert.deepEqual(await frontend(`${page.url}/app`), [])
  assert.deepEqual(await frontend(page.url), [`fault: ${page.url}/reset-password was answered with 404`])
  assert.match(
    (await frontend(`http://127.0.0.1:${await closedPort(t)}`))[0] ?? '',
    /^fault: .* cannot be reached from here: connect ECONNREFUSED/,
  )
})

plainTest('doctor ends, whatever it waits for, and changes nothing', async (t) => {
  const never = await inTime('smtp', 20, new Promise(() => undefined))
  assert.deepEqual(
    never.map(({ check, verdict }) => [check, verdict]),
    [['smtp', 'fault']],
  )
  const folder = temporaryFolder(t)
  const { env, file } = await soundPlace(t)
  const before = new DatabaseSync(file).prepare('select * from schema_migrations').all()
  await examine({ ...env, DATABASE_URL: `sqlite:${folder}/y/new.db` })
  await examine(env)
  assert.deepEqual(new DatabaseSync(file).prepare('select * from schema_migrations').all(), before)
  assert.equal(existsSync(join(folder, 'y')), false)
})

plainTest('the report is coloured where it is asked to be', () => {
  const finding: Finding = { check: 'disk', verdict: 'fault', message: 'full', advice: 'Make room.' }
  assert.deepEqual(report([finding], true), [
    '\u001b[31mfault  \u001b[0m  disk      full',
    '                   → Make room.',
    '',
    '\u001b[31m1 fault, 0 warnings\u001b[0m',
  ])
  assert.equal(report([finding], false)[0], 'fault    disk      full')
})
