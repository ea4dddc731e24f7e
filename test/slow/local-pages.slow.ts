import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { until } from '../support/app/eventually.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { submit } from '../support/http/pages.ts'
import { newEmail, PASSWORD } from '../support/http/requests.ts'
import { firstAdminUrl, type ServiceProcess, startProcess, untilPrinted } from '../support/processes/service-process.ts'
import { freePort } from '../support/servers/free-port.ts'

const FIELDS = { email: 'boss@example.com', first_name: 'Ada', last_name: 'Boss', password: 'correct horse battery' }

/** Starts nginx with nothing but `proxy_pass`: it sends no header that says so, and the address of the service as Host. */
async function startBareNginx(t: TestContext, service: ServiceProcess, directives = ''): Promise<string> {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  const [port, file] = [await freePort(), join(folder, 'nginx.conf')]
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')
  const server = `server { listen 127.0.0.1:${port}; location / { proxy_pass ${service.url}; ${directives} } }`
  writeFileSync(file, `pid ${folder}/pid; error_log stderr; events {}\nhttp { ${temporary} access_log off; ${server} }\n`)
  const child = spawn('nginx', ['-p', folder, '-c', file, '-g', 'daemon off;'], { stdio: 'ignore' })
  t.after(() => child.kill('SIGTERM'))
  const url = `http://127.0.0.1:${port}`
  await until('nginx answers', async () => (await fetch(`${url}/heartbeat`).catch(() => undefined))?.ok === true)
  return url
}

/** A service with default settings, and a mail in its mailbox. */
async function startWithMail(t: TestContext): Promise<ServiceProcess> {
  const service = await startProcess(t)
  const email = newEmail()
  const body = JSON.stringify({ email, password: PASSWORD, first_name: 'Mia', last_name: 'Muster' })
  await fetch(`${service.url}/register/`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  await untilPrinted(service, new RegExp(`Mail to ${email}`))
  return service
}

const read = async (url: string) => (await fetch(url)).status

test('404: behind a proxy_pass with default settings, nobody reads mails or finds the form for the first admin', async (t) => {
  const service = await startWithMail(t)
  const nginx = await startBareNginx(t, service)
  const [, token = ''] = /\/dev\/mail\?token=(\S+)/.exec(service.output()) ?? []
  const { search } = new URL(firstAdminUrl(service) ?? assert.fail(service.output()))
  const form = submit('/', FIELDS)
  const create = async (headers: object) =>
    (await fetch(`${nginx}/console/first-admin${search}`, { method: 'POST', headers: { ...headers }, body: String(form.payload) })).status
  assert.deepEqual(
    {
      mails: await read(`${nginx}/dev/mail`),
      mailsWithToken: await read(`${nginx}/dev/mail?token=${token}`),
      form: await read(`${nginx}/console/first-admin${search}`),
      created: await create(form.headers ?? {}),
    },
    { mails: 404, mailsWithToken: 404, form: 404, created: 404 },
  )
  assert.ok(!(await (await fetch(`${nginx}/console/sign-in`)).text()).includes('the link that the terminal'))
  assert.equal(await read(`${service.url}/dev/mail?token=${token}`), 200)
  assert.equal(await read(`${service.url}/console/first-admin${search}`), 200)
})

test('404: a proxy that cannot be told from a browser finds neither mails nor the form without their tokens', async (t) => {
  const service = await startWithMail(t)
  const nginx = await startBareNginx(t, service, 'proxy_http_version 1.1; proxy_set_header Connection "";')
  for (const path of ['/dev/mail', '/dev/mail?token=', '/dev/mail?token=wrong', '/api/v1/dev/mail'])
    assert.equal(await read(`${nginx}${path}`), 404, path)
  for (const query of ['', '?token=', '?token=wrong', '?code=wrong'])
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'])
      assert.equal((await fetch(`${nginx}/console/first-admin${query}`, { method })).status, 404, `${method} ${query}`)
  assert.ok(!(await (await fetch(`${nginx}/console/sign-in`)).text()).includes('/console/first-admin'))
})
