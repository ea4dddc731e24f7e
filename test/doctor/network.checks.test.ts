import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test as plainTest } from 'node:test'
import { examine } from '../../src/doctor/examine.ts'
import { problems, validSettings } from '../support/processes/doctor.ts'
import { freePort } from '../support/servers/free-port.ts'
import { serve } from '../support/servers/listen.ts'

plainTest('doctor reports a port that another program uses, and addresses that lead nowhere or elsewhere', async (t) => {
  const { env } = await validSettings(t)
  const other = await serve(t, (_request, response) => response.writeHead(404).end('not here'))
  const closed = await freePort()
  const taken = await examine({ ...env, PORT: String(other.port), BASE_URL: other.url })
  assert.deepEqual(problems(taken, 'port'), [`error: another program listens on 127.0.0.1, port ${other.port}`])
  assert.deepEqual(problems(taken, 'base url'), [`error: ${other.url} leads somewhere else: /heartbeat was answered with 404`])
  const stopped = await examine({ ...env, PORT: String(closed) })
  assert.deepEqual(problems(stopped, 'port'), [`warning: nothing listens on 127.0.0.1, port ${closed}`])
  assert.match(problems(stopped, 'base url')[0] ?? '', /^warning: http:\/\/localhost:\d+ cannot be reached from here: /)
  const plain = problems(await examine({ ...env, BASE_URL: 'http://accounts.invalid' }), 'base url')
  assert.equal(plain[0], 'warning: http://accounts.invalid is not encrypted')
  assert.match(plain[1] ?? '', /^error: http:\/\/accounts\.invalid cannot be reached from here: /)
  const unencrypted = problems(await examine({ ...env, BASE_URL: other.url.replace('http:', 'https:') }), 'base url')
  assert.match(unencrypted[0] ?? '', /^error: https:\S+ cannot be reached from here: the server does not use TLS on this port$/)
  const early = await serve(t, (_request, response) =>
    response.writeHead(200, { date: new Date(Date.now() + 3_600_000).toUTCString() }).end('{"status":"ok"}'),
  )
  assert.match(problems(await examine({ ...env, BASE_URL: early.url }), 'clock')[0] ?? '', /^error: 3\d{3} seconds behind http/)
})

plainTest('doctor reports a frontend that is down or has no page for a new password', async (t) => {
  const { env } = await validSettings(t)
  const page = await serve(t, (request, response) => response.writeHead(request.url === '/app/reset-password' ? 200 : 404).end())
  const frontend = async (url: string) => problems(await examine({ ...env, FRONTEND_URL: url }), 'frontend')
  assert.deepEqual(await frontend(`${page.url}/app`), [])
  assert.deepEqual(await frontend(page.url), [`error: ${page.url}/reset-password was answered with 404`])
  assert.match(
    (await frontend(`http://127.0.0.1:${await freePort()}`))[0] ?? '',
    /^error: .* cannot be reached from here: connect ECONNREFUSED/,
  )
})

plainTest('doctor does not vouch for another Latchkey service on the port or behind BASE_URL', async (t) => {
  const { env, file } = await validSettings(t)
  const answering = (headers: Readonly<Record<string, string>>) =>
    serve(t, (_request, response) => response.writeHead(200, headers).end('{"status":"ok"}'))
  const place = ({ port }: { readonly port: number }) => `127.0.0.1, port ${port}`
  const inspect = async (service: { readonly url: string; readonly port: number }) => {
    const findings = await examine({ ...env, PORT: String(service.port), BASE_URL: service.url })
    return [...problems(findings, 'port'), ...problems(findings, 'base url')]
  }

  const other = await answering({ 'latchkey-instance': 'another-database' })
  assert.deepEqual(await inspect(other), [
    `error: another Latchkey service answers on ${place(other)}: it uses another database`,
    `error: ${other.url} leads to another Latchkey service: it uses another database`,
  ])
  const silent = await answering({})
  assert.deepEqual(await inspect(silent), [`warning: a service answers on ${place(silent)}, and does not say which database it uses`])
  const connection = new DatabaseSync(file, { readOnly: true })
  const id = String(connection.prepare('select id from instance').get()?.['id'])
  connection.close()
  assert.deepEqual(await inspect(await answering({ 'latchkey-instance': id })), [])
})

plainTest('doctor warns if a proxy names the client and the service ignores it', async (t) => {
  const { env } = await validSettings(t)
  const forwarded = await serve(t, (_request, response) =>
    response.writeHead(200, { 'latchkey-forwarded': 'ignored' }).end('{"status":"ok"}'),
  )
  assert.match(problems(await examine({ ...env, BASE_URL: forwarded.url }), 'proxy')[0] ?? '', /^warning: a proxy sends X-Forwarded-For/)
  const direct = await serve(t, (_request, response) => response.writeHead(200).end('{"status":"ok"}'))
  assert.deepEqual(problems(await examine({ ...env, BASE_URL: direct.url }), 'proxy'), [])
})
