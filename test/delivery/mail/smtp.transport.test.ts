import assert from 'node:assert/strict'
import { connect as tcpConnect } from 'node:net'
import { type TestContext, test } from 'node:test'
import tls from 'node:tls'
import { createSmtpTransport, type SmtpTimeouts } from '../../../src/delivery/mail/smtp.transport.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { enqueueMail } from '../../../src/storage/repositories/mail/mail.repository.ts'
import { type Actor, member } from '../../support/app/actors.ts'
import { until } from '../../support/app/eventually.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { makeCertificate } from '../../support/servers/certificates.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { startRawPeer } from '../../support/servers/listen.ts'
import { openPostOffice, outboxRows } from '../../support/servers/post-office.ts'
import { startSmtpPeer } from '../../support/servers/smtp-peer.ts'

const SHORT = { silenceMs: 150, totalMs: 600 }
// Only the whole mail takes too long, also on a busy machine.
const LONG_SILENCE = { silenceMs: 60_000, totalMs: 4000 }
const ENDLESS = { silenceMs: 600_000, totalMs: 600_000 }

type Scene = { readonly testApp: TestApp; readonly mia: Actor }

/** An account with a queued reset mail. */
async function askedForReset(t: TestContext): Promise<Scene> {
  const testApp = await startApp(t, { env: { MAIL_FROM: 'Latchkey <noreply@id.example.com>' } })
  const mia = await member(testApp)
  await enqueueMail(testApp.db, 'reset', mia.email, testApp.clock.now())
  return { testApp, mia }
}

/** Tries once to send what is due, through a mail server. */
async function tryToSend(t: TestContext, testApp: TestApp, url: string, timeouts?: SmtpTimeouts): Promise<string[]> {
  const transport = createSmtpTransport(url, timeouts)
  t.after(() => transport.close())
  const { dispatcher, logged } = openPostOffice(testApp, transport)
  await dispatcher.drain()
  return logged
}

async function waits(testApp: TestApp, reason: RegExp): Promise<void> {
  const [row, ...others] = await outboxRows(testApp)
  assert.deepEqual(others, [])
  assert.deepEqual({ attempts: row?.attempts, lease: row?.lease, failed: row?.failed_at }, { attempts: 1, lease: null, failed: null })
  assert.match(row?.last_error ?? '', reason)
  const delayMs = (row?.due_at ?? 0) - testApp.clock.now()
  assert.ok(delayMs >= 1000 && delayMs <= 2000, `${delayMs} ms`)
}

test('a mail is sent from MAIL_FROM to exactly one recipient', async (t) => {
  const { testApp, mia } = await askedForReset(t)
  const peer = await startSmtpPeer(t)
  const logged = await tryToSend(t, testApp, peer.url)
  const [delivery, ...others] = peer.deliveries
  assert.deepEqual(others, [])
  assert.deepEqual({ from: delivery?.from, to: delivery?.to }, { from: 'noreply@id.example.com', to: [mia.email] })
  assert.equal(delivery?.mail.subject, 'Reset your password for Latchkey')
  assert.equal(testApp.services.tokens.read(delivery?.mail.code ?? '', 'reset').userId, mia.id)
  assert.deepEqual({ rows: await outboxRows(testApp), logged }, { rows: [], logged: [] })
})

test('a mail waits while the connection is refused', async (t) => {
  const { testApp } = await askedForReset(t)
  await tryToSend(t, testApp, `smtp://127.0.0.1:${await freePort()}`)
  await waits(testApp, /^no answer: .*ECONNREFUSED/)
})

test('a mail waits while the host name cannot be resolved', async (t) => {
  const { testApp } = await askedForReset(t)
  await tryToSend(t, testApp, 'smtp://mail.invalid:2525')
  await waits(testApp, /^no answer: /)
})

test('a mail waits when smtps:// is used with a port without TLS, and the reason says what to change', async (t) => {
  const { testApp } = await askedForReset(t)
  const peer = await startSmtpPeer(t)
  await tryToSend(t, testApp, peer.url.replace('smtp:', 'smtps:'))
  await waits(testApp, /^the port does not speak TLS from the start: use smtp:\/\/ in SMTP_URL, or the port for smtps:\/\/$/)
})

test('a mail waits when the server never greets', async (t) => {
  const { testApp } = await askedForReset(t)
  const peer = await startRawPeer(t, () => undefined)
  await tryToSend(t, testApp, peer.url, SHORT)
  await waits(testApp, /^no answer: (?:Greeting never received|Timeout)/)
})

test('a mail waits when the server answers byte by byte, and the next one is not delayed', async (t) => {
  const { testApp, mia } = await askedForReset(t)
  let isSlow = true
  const good = await startSmtpPeer(t)
  const peer = await startRawPeer(t, (socket) => {
    if (isSlow) {
      socket.write('220 wait\r\n')
      const timer = setInterval(() => socket.write('250-wait\r\n'), 50)
      socket.on('close', () => clearInterval(timer))
      return
    }
    // From now on it forwards to a working server.
    const onward = tcpConnect(good.port)
    socket.pipe(onward).pipe(socket)
  })
  const transport = createSmtpTransport(peer.url, LONG_SILENCE)
  t.after(() => transport.close())
  const { dispatcher } = openPostOffice(testApp, transport)
  await dispatcher.drain()
  await waits(testApp, /^timeout after 4000 ms/)
  isSlow = false
  testApp.clock.advance({ seconds: 2 })
  await dispatcher.drain()
  assert.deepEqual(
    good.deliveries.map(({ to }) => to),
    [[mia.email]],
  )
})

test('a mail waits when the server says 451 to the recipient', async (t) => {
  const { testApp, mia } = await askedForReset(t)
  const peer = await startSmtpPeer(t, {
    refuseRecipient: (address) => `451 4.7.1 <${address}> greylisted, see https://example.com/${address}`,
  })
  const logged = await tryToSend(t, testApp, peer.url)
  await waits(testApp, /^RCPT TO was answered: 451 .*greylisted/)
  assert.ok(!logged.join().includes(mia.email))
  assert.ok(
    !(await outboxRows(testApp))[0]?.last_error?.includes(mia.email),
    'the stored reply does not contain the address that it quoted',
  )
})

test('a mail waits when the server says 451 or 554 to the message', async (t) => {
  for (const reply of ['451 4.3.0 try later', '554 5.6.0 not this one']) {
    const { testApp } = await askedForReset(t)
    const peer = await startSmtpPeer(t, { refuseMessage: () => reply })
    await tryToSend(t, testApp, peer.url)
    await waits(testApp, new RegExp(`^DATA was answered: ${reply.slice(0, 3)}`))
  }
})

test('a code that the server quotes from a sign-in mail is neither stored nor logged', async (t) => {
  const { testApp } = await askedForReset(t)
  const peer = await startSmtpPeer(t, { refuseMessage: () => '451 4.7.1 looks like spam: 12345678, (87654321) queue 1700000000 4bXy12' })
  const logged = await tryToSend(t, testApp, peer.url)
  await waits(testApp, /^DATA was answered: 451 4\.7\.1 looks like spam: … … queue 1700000000 4bXy12$/)
  assert.doesNotMatch(logged.join(), /12345678|87654321/)
})

test('a mailbox that does not exist is given up at once', async (t) => {
  for (const reply of ['550 5.1.1 no such user', '550 no such user', '553 5.1.3 bad address']) {
    const { testApp, mia } = await askedForReset(t)
    const peer = await startSmtpPeer(t, { refuseRecipient: () => reply })
    const logged = await tryToSend(t, testApp, peer.url)
    const [row] = await outboxRows(testApp)
    assert.equal(row?.failed_at, testApp.clock.now(), reply)
    assert.equal(logged.filter((line) => JSON.parse(line).level === 50).length, 1)
    assert.ok(!logged.join().includes(mia.email))
  }
})

test('a mail waits when the server rejects it for a reason that the operator can fix', async (t) => {
  for (const reply of ['550 5.7.1 relaying denied', '554 5.7.1 relay access denied', '530 5.7.0 log in first', '552 5.2.2 mailbox full']) {
    const { testApp } = await askedForReset(t)
    const peer = await startSmtpPeer(t, { refuseRecipient: () => reply })
    await tryToSend(t, testApp, peer.url)
    await waits(testApp, new RegExp(`^RCPT TO was answered: ${reply.slice(0, 3)}`))
  }
})

test('a mail waits when the connection is cut in the middle of DATA, and is then delivered once', async (t) => {
  const { testApp, mia } = await askedForReset(t)
  let isCutting = true
  const peer = await startSmtpPeer(t, { refuseMessage: () => (isCutting ? 'drop' : undefined) })
  await tryToSend(t, testApp, peer.url)
  await waits(testApp, /^no answer: /)
  assert.deepEqual(peer.deliveries, [])
  isCutting = false
  testApp.clock.advance({ seconds: 2 })
  await tryToSend(t, testApp, peer.url)
  assert.deepEqual(
    peer.deliveries.map(({ to }) => to),
    [[mia.email]],
  )
  assert.deepEqual(await outboxRows(testApp), [])
})

test('all mail is sent within 30 seconds after a server that was down for minutes recovers', async (t) => {
  const { testApp } = await askedForReset(t)
  const actors = [await member(testApp), await member(testApp), await member(testApp), await member(testApp), await member(testApp)]
  for (const { email } of actors) await enqueueMail(testApp.db, 'reset', email, testApp.clock.now())
  const port = await freePort()
  const transport = createSmtpTransport(`smtp://127.0.0.1:${port}`)
  t.after(() => transport.close())
  const { dispatcher } = openPostOffice(testApp, transport)
  for (let second = 0; second < 300; second += 3) {
    await dispatcher.drain()
    testApp.clock.advance({ seconds: 3 })
  }
  const peer = await startSmtpPeer(t, { port })
  for (let second = 0; second < 16; second += 4) {
    await dispatcher.drain()
    testApp.clock.advance({ seconds: 4 })
  }
  assert.equal(peer.deliveries.length, 6)
  assert.equal(new Set(peer.deliveries.map(({ to }) => String(to))).size, 6)
  assert.ok(peer.connections() <= 5, 'connections are reused, and all mails share one check')
})

/** Stops while connected to a silent server, and returns the row of the mail. */
async function stopDuringSilence(t: TestContext, testApp: TestApp) {
  const connected = Promise.withResolvers<void>()
  const peer = await startRawPeer(t, () => connected.resolve())
  const { dispatcher } = openPostOffice(testApp, createSmtpTransport(peer.url, ENDLESS), { stopDeadlineMs: 20 })
  dispatcher.start()
  await connected.promise
  const before = performance.now()
  await dispatcher.stop()
  assert.ok(performance.now() - before < 30_000)
  const [row] = await outboxRows(testApp)
  return row
}

test('a stop aborts a sending that hangs, and the mail is due again', async (t) => {
  const { testApp } = await askedForReset(t)
  const row = await stopDuringSilence(t, testApp)
  assert.equal(row?.lease, null)
  testApp.clock.advance({ seconds: 2 })
  assert.equal((await testApp.mailbox.messages()).length, 1)
})

test('a stop aborts a check that hangs, and the mail is due again', async (t) => {
  const { testApp } = await askedForReset(t)
  await tryToSend(t, testApp, `smtp://127.0.0.1:${await freePort()}`)
  testApp.clock.advance({ seconds: 2 })
  const row = await stopDuringSilence(t, testApp)
  assert.deepEqual({ lease: row?.lease, attempts: row?.attempts }, { lease: null, attempts: 2 })
})

test('two processes on one PostgreSQL send each mail once', async (t) => {
  const testApp = await startApp(t, { database: 'postgres' })
  const count = 40
  for (let index = 0; index < count; index++) await enqueueMail(testApp.db, 'reset', (await member(testApp)).email, testApp.clock.now())
  const peer = await startSmtpPeer(t)
  const other = await openDatabase(testApp.config.database)
  const transports = [createSmtpTransport(peer.url), createSmtpTransport(peer.url)]
  const [first, second] = [testApp.db, other].map((db, index) =>
    openPostOffice(testApp, transports[index] ?? createSmtpTransport(peer.url), { db }),
  )
  first?.dispatcher.start()
  second?.dispatcher.start()
  await until('every mail is sent', async () => {
    first?.dispatcher.wake()
    second?.dispatcher.wake()
    return (await outboxRows(testApp)).length === 0
  })
  await Promise.all([first?.dispatcher.stop(), second?.dispatcher.stop()])
  await other.close()
  assert.equal(peer.deliveries.length, count)
  assert.equal(new Set(peer.deliveries.map(({ to }) => String(to))).size, count)
})

/** A server without STARTTLS that writes down every command, and accepts everything else. */
async function startClearTextPeer(t: TestContext, ehlo = '250-clear\r\n250 AUTH PLAIN LOGIN') {
  const replies = new Map([
    ['EHLO', ehlo],
    ['STARTTLS', '502 5.5.1 unknown command'],
    ['DATA', '354 go ahead'],
  ])
  const commands: string[] = []
  const peer = await startRawPeer(t, (socket) => {
    socket.write('220 clear\r\n')
    socket.on('data', (data) => {
      const [command = ''] = data.toString().split(/\s/)
      commands.push(command)
      socket.write(`${replies.get(command) ?? '250 ok'}\r\n`)
    })
  })
  return { ...peer, commands }
}

const NOT_ENCRYPTED = /nothing was sent, because the server does not encrypt; use another port or smtps:\/\/ in SMTP_URL, or add \?tls=none/

test('a mail waits when the server offers no STARTTLS and SMTP_URL has credentials: neither password nor mail is sent', async (t) => {
  const { testApp } = await askedForReset(t)
  const peer = await startClearTextPeer(t)
  const logged = await tryToSend(t, testApp, peer.url.replace('//', '//post:canary-password@'))
  await waits(testApp, NOT_ENCRYPTED)
  assert.deepEqual(peer.commands, ['EHLO', 'STARTTLS'])
  assert.match(logged.join(), NOT_ENCRYPTED)
  const served = await startSmtpPeer(t, { login: { user: 'post', password: 'right' } })
  testApp.clock.advance({ seconds: 2 })
  await tryToSend(t, testApp, served.url.replace('//', '//post:right@'))
  assert.deepEqual(served.deliveries, [])
})

test('a server that knows no EHLO is sent neither password nor mail when SMTP_URL has credentials', async (t) => {
  const { testApp } = await askedForReset(t)
  const peer = await startClearTextPeer(t, '502 5.5.1 unknown command')
  await tryToSend(t, testApp, peer.url.replace('//', '//post:canary-password@'))
  await waits(testApp, NOT_ENCRYPTED)
  assert.deepEqual(peer.commands, ['EHLO'])
})

test('?tls=required sends nothing in clear text without credentials either, as when STARTTLS is stripped on the way', async (t) => {
  const certificate = makeCertificate(t)
  if (certificate === undefined) return t.skip('openssl is not installed')
  const { testApp } = await askedForReset(t)
  const server = await startSmtpPeer(t, { tls: { ...certificate, fromTheStart: false } })
  const commands: string[] = []
  // Relays everything, but hides the offer of STARTTLS and answers the command itself.
  const stripping = await startRawPeer(t, (socket) => {
    const onward = tcpConnect(server.port)
    onward.on('data', (data) =>
      socket.write(
        data
          .toString()
          .replace('250-STARTTLS\r\n', '')
          .replace(/250[ -]STARTTLS/, '250 8BITMIME'),
      ),
    )
    socket.on('data', (data) => {
      commands.push(data.toString().split(/\s/)[0] ?? '')
      if (data.toString().startsWith('STARTTLS')) socket.write('454 4.7.0 not available\r\n')
      else onward.write(data)
    })
    socket.on('close', () => onward.destroy())
  })
  await tryToSend(t, testApp, `${stripping.url}?tls=required`)
  await waits(testApp, NOT_ENCRYPTED)
  assert.deepEqual(commands, ['EHLO', 'STARTTLS'])
  assert.deepEqual(server.deliveries, [])
})

test('?tls=none sends in clear text, with or without credentials, also to a server that offers STARTTLS', async (t) => {
  const certificate = makeCertificate(t)
  if (certificate === undefined) return t.skip('openssl is not installed')
  for (const login of [undefined, { user: 'post', password: 'right' }])
    for (const encryption of [undefined, { ...certificate, fromTheStart: false }]) {
      const { testApp } = await askedForReset(t)
      const peer = await startSmtpPeer(t, { ...(login && { login }), ...(encryption && { tls: encryption }) })
      await tryToSend(t, testApp, `${login ? peer.url.replace('//', '//post:right@') : peer.url}?tls=none`)
      assert.deepEqual(
        peer.deliveries.map(({ secure, user }) => ({ secure, user })),
        [{ secure: false, user: login?.user }],
      )
    }
})

test('user and password of SMTP_URL are decoded and used, and neither is in the error for a wrong one', async (t) => {
  const { testApp } = await askedForReset(t)
  const peer = await startSmtpPeer(t, { login: { user: 'post@example.com', password: 'p@ss/w:rd' } })
  const at = (login: string) => `${peer.url.replace('//', `//${login}@`)}?tls=none`
  const logged = await tryToSend(t, testApp, at('post%40example.com:canary-password'))
  await waits(testApp, /^AUTH \w+ was answered: 535$/)
  assert.ok(!/canary|post@/.test(logged.join() + JSON.stringify(await outboxRows(testApp))))
  testApp.clock.advance({ seconds: 2 })
  await tryToSend(t, testApp, at('post%40example.com:p%40ss%2Fw%3Ard'))
  assert.deepEqual(
    peer.deliveries.map(({ user }) => user),
    ['post@example.com'],
  )
})

test('smtp:// is encrypted when the server offers it, smtps:// from the start; an untrusted certificate is refused', async (t) => {
  const certificate = makeCertificate(t)
  if (certificate === undefined) return t.skip('openssl is not installed')
  for (const fromTheStart of [false, true]) {
    const { testApp } = await askedForReset(t)
    const peer = await startSmtpPeer(t, { tls: { ...certificate, fromTheStart } })
    await tryToSend(t, testApp, peer.url)
    await waits(testApp, /^no answer: .*self-signed certificate/)
    assert.deepEqual(peer.deliveries, [])
    const trusted = tls.getCACertificates('default')
    tls.setDefaultCACertificates([...trusted, certificate.cert])
    testApp.clock.advance({ seconds: 2 })
    await tryToSend(t, testApp, peer.url)
    tls.setDefaultCACertificates(trusted)
    assert.deepEqual(
      peer.deliveries.map(({ secure }) => secure),
      [true],
    )
  }
})
