import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test as plainTest } from 'node:test'
import { report } from '../../src/cli/commands/doctor.commands.ts'
import { render } from '../../src/cli/terminal/output.ts'
import { examine } from '../../src/doctor/examine.ts'
import { type Finding, inTime } from '../../src/doctor/finding.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { runLatchkey } from '../support/processes/command-line.ts'
import { problems, validSettings } from '../support/processes/doctor.ts'
import { startMain } from '../support/processes/main-process.ts'
import { LATCHKEY, runNode } from '../support/processes/processes.ts'
import { makeCertificate } from '../support/servers/certificates.ts'
import { startSmtpPeer } from '../support/servers/smtp-peer.ts'

plainTest('doctor reports no problem of a healthy service, and exits with 0', async (t) => {
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
    password: 'ok',
    database: 'ok',
    schema: 'ok',
    rotation: 'ok',
    admins: 'ok',
    'second factor': 'ok',
    audit: 'ok',
    outbox: 'ok',
    smtp: 'ok',
    port: 'ok',
    // The second of two findings about it; the first is below.
    'base url': 'ok',
    clock: 'ok',
    frontend: 'ok',
  })
  assert.deepEqual(problems(findings, 'base url'), [`error: the links in mails lead to ${url}, which is the reader's own machine`])
  assert.equal(code, 1)
  const withoutMail = await runLatchkey(['doctor'], { cwd, env: { ...admin, PORT: String(port), BASE_URL: url } })
  assert.equal(withoutMail.code, 0)
  assert.match(withoutMail.stdout, /\n\n0 errors, 1 warning\n$/)
  assert.equal(withoutMail.stdout.includes('\u001b'), false)
})

plainTest('doctor reports every invalid setting, including a weak secret, and prints no secret', async () => {
  const findings = await examine({ PORT: 'x', SECRET_KEY: 'change-me-change-me-change-me-change-me' })
  assert.deepEqual(problems(findings, 'settings'), [
    'error: PORT: should be a whole number from 0 to 65535, is "x"',
    'error: SECRET_KEY: is a sample or can be guessed; create one with `npm run latchkey -- secret generate`',
  ])
})

plainTest('doctor ends within its deadline and changes nothing', async (t) => {
  const never = await inTime('smtp', 20, () => new Promise(() => undefined))
  assert.deepEqual(
    never.map(({ check, verdict }) => [check, verdict]),
    [['smtp', 'error']],
  )
  const folder = temporaryFolder(t)
  const { env, file } = await validSettings(t)
  const before = new DatabaseSync(file).prepare('select * from schema_migrations').all()
  await examine({ ...env, DATABASE_URL: `sqlite:${folder}/y/new.db` })
  await examine(env)
  assert.deepEqual(new DatabaseSync(file).prepare('select * from schema_migrations').all(), before)
  assert.equal(existsSync(join(folder, 'y')), false)
})

plainTest('the report has colours on a terminal', () => {
  const finding: Finding = { check: 'disk', verdict: 'error', message: 'full', advice: 'Make room.' }
  const shown = (isColoured: boolean) => report([finding]).map((line) => render(line, { isColoured }))
  assert.deepEqual(shown(true), [
    '\u001b[31merror  \u001b[0m  disk      full',
    '                   → Make room.',
    '',
    '\u001b[31m1 error, 0 warnings\u001b[0m',
  ])
  assert.equal(shown(false)[0], 'error    disk      full')
})
