import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { admin, member } from '../../support/app/actors.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { forgotPassword, login, logout, newEmail, PASSWORD, register, resetPassword, verify } from '../../support/http/requests.ts'

type Line = {
  readonly event?: string
  readonly msg: string
  readonly requestId?: string
  readonly actor?: number
  readonly target?: unknown
  readonly status?: number
  readonly reason?: string
  readonly changed?: readonly string[]
  readonly ip?: string
}

const NO_KEY = '3f2b8c1e-9d4a-4e7b-8a6c-5d1e0f9b7c2a'

function lines({ logged }: TestApp): Line[] {
  return logged.map((line) => JSON.parse(line))
}

test('a change of an account is logged with actor, target and request id', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const mia = await member(service)
  const banned = await service.app.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: boss.headers })
  const loggedIn = await service.app.inject(login({ email: boss.email }))
  const seen = lines(service).map(({ event, actor, target, requestId }) => ({ event, actor, target, requestId }))
  assert.deepEqual(seen, [
    { event: 'user.banned', actor: boss.id, target: mia.id, requestId: banned.headers['x-request-id'] },
    { event: 'session.created', actor: undefined, target: boss.id, requestId: loggedIn.headers['x-request-id'] },
  ])
})

test('a change is logged even if the connection is reset before the response is written', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const mia = await member(service)
  const port = Number(new URL(await service.app.listen({ port: 0, host: '127.0.0.1' })).port)
  const accepted = once(service.app.server, 'connection')
  const socket = connect(port, '127.0.0.1')
  const [serverSocket] = await accepted
  const closed = new Promise((resolve) => serverSocket.once('close', resolve))
  const { transaction } = service.db
  service.db.transaction = async (work, options) => {
    const result = await transaction(work, options)
    socket.resetAndDestroy()
    await closed
    return result
  }
  const { authorization } = boss.headers
  socket.write(`POST /users/${mia.id}/make-admin HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Length: 0\r\n\r\n`)
  await closed
  const { event, actor, target, ip, requestId } = lines(service)[0] ?? assert.fail('nothing was logged')
  assert.deepEqual({ event, actor, target, ip }, { event: 'user.promoted', actor: boss.id, target: mia.id, ip: '127.0.0.1' })
  assert.equal(typeof requestId, 'string')
})

test('an edit is logged with the names of the changed fields, without their values', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const email = newEmail()
  const edit = (payload: object) => service.app.inject({ method: 'PUT', url: `/users/${mia.id}`, headers: mia.headers, payload })
  await edit({ password: 'canary password', email, role: 'admin' })
  await edit({ first_name: 'Canary' })
  await edit({ email: 'none' })
  assert.deepEqual(
    lines(service).map(({ msg, target, changed }) => ({ msg, target, changed })),
    [
      { msg: 'user.edited', target: mia.id, changed: ['email'] },
      { msg: 'user.password_changed', target: mia.id, changed: undefined },
      { msg: 'user.edited', target: mia.id, changed: ['first_name'] },
      { msg: 'refused', target: mia.id, changed: undefined },
    ],
  )
  for (const value of ['canary password', email, 'Canary']) assert.ok(!service.logged.join('').includes(value))
})

test('a refusal is logged with its reason, target and request id', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const other = await member(service)
  const ids = []
  for (const request of [
    login({ email: mia.email, password: 'wrong password' }),
    login({ email: newEmail() }),
    logout({}),
    { method: 'DELETE', url: `/users/${other.id}`, headers: mia.headers },
    { method: 'POST', url: `/users/${other.id}/password`, headers: mia.headers, payload: { password: 'canary password' } },
    { method: 'DELETE', url: `/users/keys/${NO_KEY}`, headers: mia.headers },
    { method: 'DELETE', url: '/users/canary-in-a-path', headers: mia.headers },
  ] as const)
    ids.push((await service.app.inject(request)).headers['x-request-id'])
  assert.deepEqual(
    lines(service).map(({ msg, status, reason, actor, target }) => ({ msg, status, reason, actor, target })),
    [
      { status: 400, reason: `wrong password for user ${mia.id}` },
      { status: 400, reason: 'no such account' },
      { status: 401, reason: 'not_authenticated' },
      { status: 403, reason: 'not_permitted', actor: mia.id, target: other.id },
      { status: 403, reason: 'not_permitted', actor: mia.id, target: other.id },
      { status: 404, reason: 'key_not_found', actor: mia.id, target: NO_KEY },
      { status: 403, reason: 'not_permitted', actor: mia.id },
    ].map((line) => ({ msg: 'refused', actor: undefined, target: undefined, ...line })),
  )
  assert.deepEqual(
    lines(service).map(({ requestId }) => requestId),
    ids,
  )
  assert.ok(!service.logged.join('').includes('canary'))
})

test('the logged address is the one that the nearest proxy has seen, and always a valid address', async (t) => {
  const addresses = async (trusted: string, forwarded: readonly string[]) => {
    const service = await startApp(t, { env: { TRUST_PROXY: trusted } })
    const { email } = await member(service)
    for (const value of forwarded) {
      const headers = { 'content-type': 'application/json', 'x-forwarded-for': value }
      await service.app.inject({ ...login({ email }), headers })
      await service.app.inject({ url: '/users/me', headers: { 'x-forwarded-for': value } })
    }
    // The notice that a proxy is not trusted has no client address.
    return lines(service).flatMap(({ ip, msg }) => (msg.startsWith('X-Forwarded-For') ? [] : [ip]))
  }
  const twice = (...list: string[]) => list.flatMap((ip) => [ip, ip])
  const claims = ['6.6.6.6, 203.0.113.9', '2001:db8::7', '<script>', '6.6.6.6, <script>', '', '203.0.113.9:4711']
  const proxy = '127.0.0.1'
  assert.deepEqual(await addresses('true', claims), twice('203.0.113.9', '2001:db8::7', proxy, proxy, proxy, proxy))
  assert.deepEqual(await addresses('false', claims), twice(proxy, proxy, proxy, proxy, proxy, proxy))
})

test('a request is logged at debug only, without its path', async (t) => {
  for (const [level, count] of [
    ['info', 0],
    ['debug', 1],
  ] as const) {
    const service = await startApp(t, { env: { LOG_LEVEL: level } })
    await service.app.inject('/ready?code=canary')
    assert.equal(service.logged.length, count, service.logged.join(''))
    assert.ok(!service.logged.join('').includes('canary'))
  }
})

test('a request with a method that its path does not accept is logged with the path as it is declared', async (t) => {
  const service = await startApp(t, { env: { LOG_LEVEL: 'debug' } })
  for (const url of ['/ready?code=canary', '/users/1/verify', '/nothing']) await service.app.inject({ method: 'PATCH', url })
  const lines = service.logged.map((line) => JSON.parse(line))
  assert.deepEqual(
    lines.map(({ method, route, status }) => [method, route, status]),
    [
      ['PATCH', '/ready', 405],
      ['PATCH', '/users/:user_id/verify', 405],
      ['PATCH', undefined, 404],
    ],
  )
})

test('no password, token, code or key is in the log at any level', async (t) => {
  const service = await startApp(t, { env: { LOG_LEVEL: 'trace' } })
  const email = newEmail()
  const { token, refresh } = (await service.app.inject(register({ email }))).json()
  const verifyCode = await service.mailbox.codeFor(email)
  await service.app.inject(verify(verifyCode))
  await service.app.inject(verify(verifyCode))
  const session = (await service.app.inject(login({ email }))).json()
  const created = await service.app.inject({
    method: 'POST',
    url: '/users/keys',
    headers: { authorization: `Bearer ${session.token}` },
    payload: { name: 'canary' },
  })
  await service.app.inject({ url: '/users/me', headers: { 'x-api-key': created.json().key } })
  await service.app.inject(forgotPassword(email))
  const resetCode = await service.mailbox.codeFor(email)
  await service.app.inject(resetPassword({ code: resetCode, new_password: 'canary password' }))
  await service.app.inject(resetPassword({ code: resetCode, new_password: 'canary password' }))
  const log = service.logged.join('')
  assert.ok(service.logged.length > 10)
  for (const secret of [
    PASSWORD,
    'canary password',
    token,
    refresh,
    session.token,
    session.refresh,
    verifyCode,
    resetCode,
    created.json().key,
  ]) {
    assert.ok(secret.length > 10 && !log.includes(secret))
  }
})
