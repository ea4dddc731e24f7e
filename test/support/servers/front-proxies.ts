import { spawn } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { type RequestOptions, request as requestTls } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { until } from '../app/eventually.ts'
import { temporaryFolder } from '../databases/databases.ts'
import { read } from '../documents.ts'
import type { Certificate } from './certificates.ts'
import { freePort } from './free-port.ts'

export type FrontProxy = {
  readonly port: number
  /** The access log so far. */
  log(): string
}

export type ProxyResponse = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }

export const HAS_IPV6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'))

type Replacements = Readonly<Record<string, string>>

/** The text of a file in deploy/ with some texts replaced, such as a timeout that is too long for a test. */
export function adapted(name: string, replacements: Replacements): string {
  let text = read(`deploy/${name}`)
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`deploy/${name} does not have "${from}"`)
    text = text.replaceAll(from, to)
  }
  return text
}

/** Starts nginx with deploy/nginx.conf; only addresses, paths and `replacements` differ. It stops when the test ends. */
export async function startNginx(
  t: TestContext,
  upstreamPort: number,
  { certFile, keyFile }: Certificate,
  replacements: Replacements = {},
): Promise<FrontProxy> {
  const [folder, port] = [temporaryFolder(t), await freePort()]
  const logFile = join(folder, 'access.log')
  const server = adapted('nginx.conf', {
    'server 127.0.0.1:8000;': `server 127.0.0.1:${upstreamPort};`,
    'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
    // The test machine has one IPv6 address, so the test sends a made-up one in the PROXY protocol.
    'listen [::]:443 ssl;': HAS_IPV6 ? `listen [::1]:${port} ssl proxy_protocol; set_real_ip_from ::1; real_ip_header proxy_protocol;` : '',
    '/etc/ssl/accounts.example.com.pem': certFile,
    '/etc/ssl/accounts.example.com.key': keyFile,
    '/var/log/nginx/latchkey.log': logFile,
    '/var/log/nginx/latchkey-error.log': join(folder, 'error.log'),
    ...replacements,
  })
  await runNginx(t, folder, port, server)
  return { port, log: () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '') }
}

/** Starts HAProxy with deploy/haproxy.cfg; only addresses, paths and `replacements` differ. It stops when the test ends. */
export async function startHaproxy(
  t: TestContext,
  upstreamPorts: readonly [number, number],
  certificate: Certificate,
  replacements: Replacements = {},
): Promise<FrontProxy> {
  const folder = temporaryFolder(t)
  const [port, file, pem] = [await freePort(), join(folder, 'haproxy.cfg'), join(folder, 'both.pem')]
  writeFileSync(pem, certificate.cert + certificate.key, { mode: 0o600 })
  const text = adapted('haproxy.cfg', {
    'bind :443': `bind 127.0.0.1:${port}`,
    'bind :::443 v6only': HAS_IPV6 ? `bind ::1:${port} accept-proxy` : '#',
    '/etc/ssl/accounts.example.com.pem': pem,
    '10.0.0.11:8000': `127.0.0.1:${upstreamPorts[0]}`,
    '10.0.0.12:8000': `127.0.0.1:${upstreamPorts[1]}`,
    ...replacements,
  })
  writeFileSync(file, text)
  return { port, log: await run(t, port, 'haproxy', ['-db', '-f', file]) }
}

/** Starts a proxy that asks Latchkey about each request, with its example in deploy/ but without TLS. Returns its port. */
export type StartProxy = (t: TestContext, ports: { readonly check: number; readonly product: number }) => Promise<number>

function forwardAuthExample(name: string, { check, product }: Parameters<StartProxy>[1], replacements: Replacements): string {
  return adapted(name, { '127.0.0.1:8000': `127.0.0.1:${check}`, '127.0.0.1:3000': `127.0.0.1:${product}`, ...replacements })
}

export const PROXIES: Readonly<Record<string, StartProxy>> = {
  async nginx(t, ports) {
    const port = await freePort()
    const server = forwardAuthExample('forward-auth.nginx.conf', ports, {
      'listen 443 ssl;': `listen 127.0.0.1:${port};`,
      'ssl_certificate /etc/ssl/app.example.com.pem;': '',
      'ssl_certificate_key /etc/ssl/app.example.com.key;': '',
    })
    await runNginx(t, temporaryFolder(t), port, `access_log off;\n${server}`)
    return port
  },
  async Caddy(t, ports) {
    const folder = temporaryFolder(t)
    const [port, file] = [await freePort(), join(folder, 'Caddyfile')]
    const site = forwardAuthExample('forward-auth.Caddyfile', ports, {
      'app.example.com {': `http://127.0.0.1:${port}, http://app.example.com:${port} {`,
    })
    writeFileSync(file, `{\n\tadmin off\n}\n${site}`)
    await run(t, port, 'caddy', ['run', '--adapter', 'caddyfile', '--config', file], { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder })
    return port
  },
}

async function runNginx(t: TestContext, folder: string, port: number, server: string): Promise<void> {
  chmodSync(folder, 0o755)
  const file = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`)
  writeFileSync(file, `pid ${folder}/pid; error_log stderr; events {}\nhttp {\n${temporary.join('\n')}\n${server}\n}\n`)
  await run(t, port, 'nginx', ['-p', folder, '-c', file, '-g', 'daemon off;'])
}

async function run(t: TestContext, port: number, command: string, args: readonly string[], env = {}): Promise<() => string> {
  const child = spawn(command, args, { env: { ...process.env, ...env } })
  t.after(() => child.kill('SIGTERM'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  await until(`${command} answers`, async () => {
    if (child.exitCode !== null) throw new Error(`${command} exited: ${output}`)
    // A proxy that expects TLS answers this too, with an error or by closing the connection.
    return request(port, '/heartbeat').then(Boolean, () => false)
  })
  return () => output
}

/** Sends one request on a new connection with TLS. The path is sent unchanged. */
export function send(port: number, method: string, path: string, headers: Record<string, string> = {}, body = ''): Promise<ProxyResponse> {
  return receive({ port, host: '127.0.0.1', method, path, headers, rejectUnauthorized: false, agent: false }, body)
}

/** Sends one request over IPv6 from a made-up address. */
export function sendFrom(
  address: string,
  port: number,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<ProxyResponse> {
  const socket = connectTcp(port, '::1')
  socket.write(`PROXY TCP6 ${address} ::1 40000 443\r\n`)
  return receive({ method: 'POST', path, headers, createConnection: () => connectTls({ socket, rejectUnauthorized: false }) }, body)
}

function receive(options: RequestOptions, body: string): Promise<ProxyResponse> {
  return new Promise((resolve, reject) => {
    const sent = requestTls(options, async (response) => {
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: await readAll(response) })
    })
    sent.on('error', reject).end(body)
  })
}

/** Sends a request without TLS, with header lines in any spelling and any number. */
export function request(port: number, path: string, headerLines: readonly string[] = [], method = 'GET', body = '') {
  const length = body === '' ? [] : [`Content-Length: ${body.length}`]
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: app.example.com', 'Connection: close', ...length, ...headerLines]
  return sendBytes(port, `${lines.join('\r\n')}\r\n\r\n${body}`, false)
}

/** Sends bytes that need not be HTTP, and reads the response until the proxy closes the connection. */
export async function sendBytes(port: number, bytes: string, isTls = true): Promise<ProxyResponse> {
  const socket = isTls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connectTcp(port, '127.0.0.1')
  socket.write(bytes)
  const [head = '', body = ''] = (await readAll(socket)).split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)])
  return { status: Number(statusLine.split(' ')[1]), headers: Object.fromEntries(headers), body }
}
