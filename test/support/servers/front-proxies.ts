import { spawn } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { until } from '../app/eventually.ts'
import { temporaryFolder } from '../databases/databases.ts'
import { freePort } from '../databases/postgres-server.ts'
import type { Certificate } from './certificates.ts'

export type FrontProxy = {
  readonly port: number
  /** Everything that it has logged. */
  log(): string
}

export type ProxyAnswer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }

export const HAS_IPV6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'))

const DEPLOY = fileURLToPath(new URL('../../../deploy', import.meta.url))

/** nginx with deploy/nginx.conf as it stands, but for addresses and paths. It ends with the test. */
export async function startNginx(t: TestContext, upstreamPort: number, { certFile, keyFile }: Certificate): Promise<FrontProxy> {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  const [port, file, logFile] = [await freePort(), join(folder, 'nginx.conf'), join(folder, 'access.log')]
  const server = adapted('nginx.conf', {
    'server 127.0.0.1:8000;': `server 127.0.0.1:${upstreamPort};`,
    'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
    // Over IPv6 the test says where it comes from, as it has one address alone.
    'listen [::]:443 ssl;': HAS_IPV6 ? `listen [::1]:${port} ssl proxy_protocol; set_real_ip_from ::1; real_ip_header proxy_protocol;` : '',
    '/etc/ssl/accounts.example.com.pem': certFile,
    '/etc/ssl/accounts.example.com.key': keyFile,
    '/var/log/nginx/latchkey.log': logFile,
    '/var/log/nginx/latchkey-error.log': join(folder, 'error.log'),
  })
  const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`)
  writeFileSync(file, `pid ${folder}/pid; error_log stderr; events {}\nhttp {\n${kept.join('\n')}\n${server}\n}\n`)
  await start(t, port, 'nginx', ['-p', folder, '-c', file, '-g', 'daemon off;'])
  return { port, log: () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '') }
}

/** HAProxy with deploy/haproxy.cfg as it stands, but for addresses and paths. It ends with the test. */
export async function startHaproxy(
  t: TestContext,
  upstreamPorts: readonly [number, number],
  certificate: Certificate,
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
  })
  writeFileSync(file, text)
  return { port, log: await start(t, port, 'haproxy', ['-db', '-f', file]) }
}

function adapted(name: string, replacements: Readonly<Record<string, string>>): string {
  let text = readFileSync(join(DEPLOY, name), 'utf8')
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`deploy/${name} does not have "${from}"`)
    text = text.replaceAll(from, to)
  }
  return text
}

async function start(t: TestContext, port: number, command: string, args: readonly string[]): Promise<() => string> {
  const child = spawn(command, args)
  t.after(() => child.kill('SIGTERM'))
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  await until(`${command} serves`, async () => {
    if (child.exitCode !== null) throw new Error(`${command} ended: ${said}`)
    return (await send(port, 'GET', '/heartbeat').catch(() => undefined))?.status === 200
  })
  return () => said
}

/** One request on a connection of its own, its path as it is given. */
export function send(port: number, method: string, path: string, headers: Record<string, string> = {}, body = ''): Promise<ProxyAnswer> {
  return ask({ port, host: '127.0.0.1', method, path, headers, rejectUnauthorized: false, agent: false }, body)
}

/** The same over IPv6, from an address that the test makes up. */
export function sendFrom(address: string, port: number, path: string, headers: Record<string, string>, body: string): Promise<ProxyAnswer> {
  const socket = connectTcp(port, '::1')
  socket.write(`PROXY TCP6 ${address} ::1 40000 443\r\n`)
  return ask({ method: 'POST', path, headers, createConnection: () => connectTls({ socket, rejectUnauthorized: false }) }, body)
}

function ask(options: RequestOptions, body: string): Promise<ProxyAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(options, async (response) => {
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: await readAll(response) })
    })
    sent.on('error', reject).end(body)
  })
}
