import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { until } from '../support/app/eventually.ts'
import { freshDatabase } from '../support/databases/databases.ts'
import { type ServiceProcess, startProcess } from '../support/processes/service-process.ts'
import { makeCertificate } from '../support/servers/certificates.ts'
import { type FrontProxy, HAS_IPV6, send, sendFrom, startHaproxy, startNginx } from '../support/servers/front-proxies.ts'
import { startSmtpPeer } from '../support/servers/smtp-peer.ts'

const CANARY = 'eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOjF9.Y2FuYXJ5LXByb3h5LWxvZw'
const WRONG_LOGIN = JSON.stringify({ email: 'mia@example.com', password: 'a wrong password' })
const JSON_BODY = { 'content-type': 'application/json' }
// Every spelling of a path that leads to the same route.
const SPELLINGS = ['/login/', '/login', '/api/v1/login/', '/api/v1/login', '/login/?a=1', '/%6cogin/', '/%6C%6Fgin', '/api/v1/%6cogin/']
const METRICS = ['/metrics', '/metrics/', '/api/v1/metrics', '/metrics?a=1', '/%6detrics', '/api/v1/%6Detrics/']
const SENSITIVE = ['/register/', '/forgot-password/', '/reset-password/', '/verify/resend/', '/api/v1/verify/%72esend/']
const SENSITIVE_PAGES = [
  '/account/sign-in',
  '/account/register',
  '/account/forgot-password',
  '/account/resend-verification',
  '/account/password',
  '/account/delete',
  '/console/sign-in',
  '/console/%73ign-in',
]

/** Targets that a proxy or the service might take for this path, but only one of them. */
function disguises(name: string, authority: string): string[] {
  const relative = [`*${name}`, `*/${name}`, `*api/v1/${name}`, `http://${authority}?${name}`, `http://${authority}//${name}`]
  const before = ['//', '/./', '/x/../', '/x/%2e%2E/', '/x/..%2f', '/x/..\\', '/x%5c..%5C', '/;x/', '/%2f', '/%25', '/api%2fv1/']
  const after = ['/../x', '/..', '/.', '//', ';x', '%3bx', '%2f', '\\', '%5c', '%00', '%23', '%3fx', '.', '%20']
  const encoded = name.replace(/./, (first) => `%25${first.charCodeAt(0).toString(16)}`)
  return [...relative, ...before.map((prefix) => prefix + name), ...after.map((suffix) => `/${name}${suffix}`), `/${encoded}`]
}

async function startServices(t: TestContext, count: number): Promise<ServiceProcess[]> {
  const target = await freshDatabase(t, 'postgres')
  const peer = await startSmtpPeer(t)
  const env = { DATABASE_URL: target.setting, SMTP_URL: peer.url, TRUST_PROXY: 'true', METRICS_ENABLED: 'true' }
  return Promise.all(Array.from({ length: count }, () => startProcess(t, env)))
}

function portOf({ url }: ServiceProcess): number {
  return Number(new URL(url).port)
}

/** Sends logins in every spelling of the path, each with another claimed address. Returns how many reached the service. */
async function tryPasswords({ port }: FrontProxy): Promise<number> {
  let passed = 0
  for (let attempt = 0; attempt < 60; attempt++) {
    const path = SPELLINGS[attempt % SPELLINGS.length] ?? ''
    const claims = { 'x-forwarded-for': `6.6.6.${attempt}`, forwarded: `for=6.6.6.${attempt}`, 'x-request-id': 'claimed-by-a-client' }
    const { status } = await send(port, 'POST', path, { ...JSON_BODY, ...claims }, WRONG_LOGIN)
    assert.ok(status === 400 || status === 429, `${path}: ${status}`)
    if (status === 400) passed++
  }
  return passed
}

/** The limit lets one more request through every few seconds, but not three in a row. */
async function isLimited(port: number, path: string): Promise<boolean> {
  for (let attempt = 0; attempt < 3; attempt++) if ((await send(port, 'POST', path, JSON_BODY, WRONG_LOGIN)).status === 429) return true
  return false
}

async function assertLimits(t: TestContext, proxy: FrontProxy, services: readonly ServiceProcess[], most: number): Promise<void> {
  const { port } = proxy
  const alive = await send(port, 'GET', `/heartbeat?code=${CANARY}`)
  assert.deepEqual([alive.status, alive.headers['strict-transport-security']], [200, 'max-age=31536000'])
  for (const path of METRICS) assert.equal((await send(port, 'GET', path)).status, 404, path)
  const authority = `127.0.0.1:${port}`
  assert.equal((await send(port, 'GET', `http://${authority}/metrics`)).status, 404)
  for (const path of disguises('metrics', authority)) assert.ok(!(await send(port, 'GET', path)).body.includes('# HELP'), path)
  const passed = await tryPasswords(proxy)
  assert.ok(passed > 0 && passed <= most, `${passed} passwords reached the service`)
  for (const path of [...SPELLINGS, ...SENSITIVE, ...SENSITIVE_PAGES]) assert.ok(await isLimited(port, path), `${path} is limited too`)
  assert.ok(await isLimited(port, `http://${authority}/login/`), 'an absolute URL is limited too')
  for (const path of disguises('login', authority)) {
    const { headers } = await send(port, 'POST', path, JSON_BODY, WRONG_LOGIN)
    assert.notEqual(headers['x-error-code'], 'wrong_credentials', path)
  }
  assert.equal((await send(port, 'GET', '/users/me')).status, 401, 'other requests are not limited')
  assert.equal((await send(port, 'GET', '/console/sign-in')).status, 200, 'nor is looking at a form')
  assert.equal((await send(port, 'GET', `/verify/?code=${CANARY}`)).status, 401)
  const refusalsIn = (text: string) => text.match(/"status":400.*/g) ?? []
  const output = () => services.map((service) => service.output()).join('')
  await until('the services have logged the refusals', () => refusalsIn(output()).length >= passed)
  const printed = output()
  const refusals = refusalsIn(printed)
  for (const line of refusals) assert.match(line, /"ip":"127\.0\.0\.1"/)
  assert.doesNotMatch(printed, /6\.6\.6\.|claimed-by-a-client/)
  await until('the proxy has logged the request', () => /\/verify\//.test(proxy.log()))
  assert.ok(!proxy.log().includes(CANARY) && !proxy.log().includes('code='), 'no code is logged')
  t.diagnostic(
    `60 passwords in ${SPELLINGS.length} spellings of the path, ${passed} reached the service, then 429 for it and ${SENSITIVE.length + SENSITIVE_PAGES.length} other paths`,
  )
}

/** A client uses another address of its /64 for each request. The next /64 belongs to another client. */
async function assertLimitsOverIpv6(
  t: TestContext,
  { port }: FrontProxy,
  services: readonly ServiceProcess[],
  most: number,
): Promise<void> {
  if (!HAS_IPV6) return t.diagnostic('NOT RUN: this machine has no IPv6')
  let passed = 0
  for (let attempt = 1; attempt <= 40; attempt++) {
    const { status } = await sendFrom(`2001:db8:0:a::${attempt.toString(16)}`, port, '/login/', JSON_BODY, WRONG_LOGIN)
    assert.ok(status === 400 || status === 429, String(status))
    if (status === 400) passed++
  }
  assert.ok(passed > 0 && passed <= most, `${passed} passwords reached the service`)
  assert.equal((await sendFrom('2001:db8:0:b::1', port, '/login/', JSON_BODY, WRONG_LOGIN)).status, 400)
  const printed = () => services.map(({ output }) => output()).join('')
  for (const address of ['2001:db8:0:a::1', '2001:db8:0:b::1'])
    await until(`the log has ${address}`, () => printed().includes(`"ip":"${address}"`))
  t.diagnostic(`40 passwords from as many addresses of one /64, ${passed} reached the service; a request from the next /64 is not limited`)
}

function isInstalled(command: string): boolean {
  return spawnSync(command, ['-v'], { stdio: 'ignore' }).status === 0
}

test('429: nginx with deploy/nginx.conf limits password guessing, hides the metrics and logs no code', async (t) => {
  const certificate = makeCertificate(t)
  if (!isInstalled('nginx') || certificate === undefined) return t.skip('NOT RUN: nginx or openssl is not installed')
  const services = await startServices(t, 1)
  const [service] = services
  assert.ok(service)
  const proxy = await startNginx(t, portOf(service), certificate)
  // A burst of 10 after the first; one more every six seconds.
  await assertLimits(t, proxy, services, 11 + 5)
  await assertLimitsOverIpv6(t, proxy, services, 11 + 5)
})

test('429: HAProxy with deploy/haproxy.cfg limits password guessing, hides the metrics and logs no code', async (t) => {
  const certificate = makeCertificate(t)
  if (!isInstalled('haproxy') || certificate === undefined) return t.skip('NOT RUN: HAProxy or openssl is not installed')
  const services = await startServices(t, 2)
  const [one, two] = services
  assert.ok(one && two)
  const proxy = await startHaproxy(t, [portOf(one), portOf(two)], certificate)
  await assertLimits(t, proxy, services, 20)
  await assertLimitsOverIpv6(t, proxy, services, 20)
  one.process.kill('SIGKILL')
  await until('a machine that is down gets no requests', async () => {
    const answers = []
    for (let count = 0; count < 10; count++) answers.push(await send(proxy.port, 'GET', '/heartbeat'))
    return answers.every(({ status }) => status === 200)
  })
})
