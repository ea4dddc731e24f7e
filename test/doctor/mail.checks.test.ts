import assert from 'node:assert/strict'
import { once } from 'node:events'
import { text as readAll } from 'node:stream/consumers'
import { test as plainTest } from 'node:test'
import { SMTPServer } from 'smtp-server'
import { examine } from '../../src/doctor/examine.ts'
import { until } from '../support/app/eventually.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { runLatchkey } from '../support/processes/command-line.ts'
import { problems, validSettings } from '../support/processes/doctor.ts'
import { makeCertificate } from '../support/servers/certificates.ts'
import { freePort } from '../support/servers/free-port.ts'
import { startRawPeer } from '../support/servers/listen.ts'
import { startSmtpPeer } from '../support/servers/smtp-peer.ts'

plainTest('doctor warns about a DEV_MAIL_TOKEN that has no effect, and never prints it', async (t) => {
  const { env } = await validSettings(t)
  const mailbox = async (token: string, settings: object = {}) => {
    const findings = await examine({ ...env, DEV_MAIL_TOKEN: token, BASE_URL: 'http://localhost:1', ...settings })
    assert.ok(token === '' || !JSON.stringify(findings).includes(token))
    return findings.filter(({ check }) => check === 'mailbox').map(({ verdict }) => verdict)
  }
  assert.deepEqual(await mailbox(''), [])
  assert.deepEqual(await mailbox('kX2vT9qLm4nR8pZ5'), ['ok'])
  assert.deepEqual(await mailbox('kX2vT9qLm4nR8pZ5', { BASE_URL: 'https://accounts.example.com' }), ['warning'])
  assert.deepEqual(await mailbox('kX2vT9qLm4nR8pZ5', { SMTP_URL: `smtp://localhost:${await freePort()}` }), ['warning'])
})

plainTest('doctor reports a mail server that is down, silent or rejects the login, and never prints the password', async (t) => {
  const { env } = await validSettings(t)
  const smtp = async (url: string, sendTo?: string) =>
    problems(await examine({ ...env, MAIL_FROM: 'us@example.com', BASE_URL: 'https://localhost:1', SMTP_URL: url }, { sendTo }), 'smtp')
  assert.match((await smtp(`smtp://localhost:${await freePort()}`))[0] ?? '', /^error: the mail server cannot be used: no answer: connect/)
  const silent = await startRawPeer(t, () => undefined)
  // On a busy machine, connecting may take the second that a check has left after the silence.
  await until('the silence is reported', async () =>
    /^error: the mail server cannot be used: no answer: Greeting never received/.test((await smtp(silent.url))[0] ?? ''),
  )
  const strict = await startSmtpPeer(t, { login: { user: 'me', password: 'right' }, refuseRecipient: () => '550 no such user' })
  const wrong = await smtp(`smtp://me:hunter22@localhost:${strict.port}?tls=none`)
  assert.deepEqual(wrong, ['error: the mail server cannot be used: AUTH PLAIN was answered: 535'])
  const clear = await smtp(`smtp://me:right@localhost:${strict.port}`)
  assert.match(clear[0] ?? '', /^error: the mail server cannot be used: STARTTLS was answered: 5.*the server does not encrypt/)
  const refused = await smtp(`smtp://me:right@localhost:${strict.port}?tls=none`, 'nobody@example.com')
  assert.match(refused[1] ?? '', /^error: the mail server cannot be used: RCPT TO was answered: 550/)
  const none = await examine(env, { sendTo: 'ada@example.com' })
  assert.deepEqual(problems(none, 'smtp'), ['error: SMTP_URL is not set: no mail can be sent'])
  const local = await examine({ ...env, SMTP_URL: `smtp://me:right@localhost:${strict.port}?tls=none` })
  assert.deepEqual(problems(local, 'smtp')[0], 'warning: MAIL_FROM is noreply@localhost, which most servers refuse')
})

plainTest('doctor gives the advice that belongs to the problem of the mail server', async (t) => {
  const { env } = await validSettings(t)
  const advice = async (SMTP_URL: string, sendTo?: string) => {
    const findings = await examine({ ...env, MAIL_FROM: 'us@example.com', BASE_URL: 'https://localhost:1', SMTP_URL }, { sendTo })
    return findings.find(({ check, verdict }) => check === 'smtp' && verdict === 'error')?.advice ?? ''
  }
  const strict = await startSmtpPeer(t, { login: { user: 'me', password: 'right' }, refuseRecipient: () => '550 no such user' })
  assert.match(await advice(`smtp://localhost:${await freePort()}`), /^Check host and port in SMTP_URL/)
  assert.match(await advice(`smtps://localhost:${strict.port}`), /^Check host and port in SMTP_URL/)
  assert.match(await advice(`smtp://me:wrong@localhost:${strict.port}?tls=none`), /^Check user and password in SMTP_URL/)
  assert.match(await advice(`smtp://me:right@localhost:${strict.port}`), /^Use another port or smtps:/)
  assert.match(
    await advice(`smtp://me:right@localhost:${strict.port}?tls=none`, 'nobody@example.com'),
    /^Check that the server lets MAIL_FROM/,
  )
  const withoutEhlo = await startRawPeer(t, (socket) => {
    socket.write('220 old\r\n')
    socket.on('data', () => socket.write('502 5.5.1 unknown command\r\n'))
  })
  assert.match(await advice(withoutEhlo.url.replace('//', '//me:right@')), /^Use another port or smtps:/)
  const certificate = makeCertificate(t)
  if (certificate === undefined) return
  for (const fromTheStart of [false, true]) {
    const peer = await startSmtpPeer(t, { tls: { ...certificate, fromTheStart } })
    assert.match(await advice(peer.url), /^Use the name that is in the certificate/)
  }
})

plainTest('doctor warns when mail travels in clear text', async (t) => {
  const { env } = await validSettings(t)
  const smtp = async (url: string) => problems(await examine({ ...env, MAIL_FROM: 'us@example.com', SMTP_URL: url }), 'smtp')
  const open = await startSmtpPeer(t)
  assert.deepEqual(await smtp(open.url), ['warning: mails and their links travel to the mail server in clear text'])
  assert.deepEqual(await smtp(`${open.url}?tls=none`), ['warning: mails and their links travel to the mail server in clear text'])
  const strict = await startSmtpPeer(t, { login: { user: 'me', password: 'right' } })
  assert.deepEqual(await smtp(`smtp://me:right@localhost:${strict.port}?tls=none`), [
    'warning: mails, their links and the password of SMTP_URL travel to the mail server in clear text',
  ])
})

plainTest('doctor --send-to delivers one test mail to that address', async (t) => {
  const { env } = await validSettings(t)
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
  assert.deepEqual(problems(findings, 'smtp'), ['warning: mails and their links travel to the mail server in clear text'])
  assert.deepEqual(
    [taken.length, /^To: ada@example\.com\r$/m.test(taken[0] ?? ''), /^Subject: Test mail from Latchkey\r$/m.test(taken[0] ?? '')],
    [1, true, true],
  )
  const { code, stderr } = await runLatchkey(['doctor', '--send-to', 'a@x.io,b@y.io'], { cwd: temporaryFolder(t) })
  assert.deepEqual([code, stderr], [1, 'latchkey: --send-to: should be an e-mail address\n'])
})
