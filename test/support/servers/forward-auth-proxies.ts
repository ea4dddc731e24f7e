import { spawn } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from '../app/eventually.ts'
import { temporaryFolder } from '../databases/databases.ts'
import { freePort } from './free-port.ts'
import { sendBytes } from './front-proxies.ts'

export type Ports = { readonly check: number; readonly product: number }
/** Starts a proxy with its example in deploy/, without TLS. Returns its port. It stops when the test ends. */
export type StartProxy = (t: TestContext, ports: Ports) => Promise<number>

function example(name: string, replacements: Readonly<Record<string, string>>): string {
  let text = readFileSync(fileURLToPath(new URL(`../../../deploy/${name}`, import.meta.url)), 'utf8')
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`deploy/${name} does not have "${from}"`)
    text = text.replaceAll(from, to)
  }
  return text
}

const startNginx: StartProxy = async (t, { check, product }) => {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  const [port, file] = [await freePort(), join(folder, 'nginx.conf')]
  const server = example('forward-auth.nginx.conf', {
    '127.0.0.1:8000': `127.0.0.1:${check}`,
    '127.0.0.1:3000': `127.0.0.1:${product}`,
    'listen 443 ssl;': `listen 127.0.0.1:${port};`,
    'ssl_certificate /etc/ssl/app.example.com.pem;': '',
    'ssl_certificate_key /etc/ssl/app.example.com.key;': '',
  })
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`)
  writeFileSync(file, `pid ${folder}/pid; error_log stderr; events {}\nhttp { access_log off;\n${temporary.join('\n')}\n${server}\n}\n`)
  return start(t, port, 'nginx', ['-p', folder, '-c', file, '-g', 'daemon off;'])
}

const startCaddy: StartProxy = async (t, { check, product }) => {
  const folder = temporaryFolder(t)
  const [port, file] = [await freePort(), join(folder, 'Caddyfile')]
  const site = example('forward-auth.Caddyfile', {
    '127.0.0.1:8000': `127.0.0.1:${check}`,
    '127.0.0.1:3000': `127.0.0.1:${product}`,
    'app.example.com {': `http://127.0.0.1:${port}, http://app.example.com:${port} {`,
  })
  writeFileSync(file, `{\n\tadmin off\n}\n${site}`)
  return start(t, port, 'caddy', ['run', '--adapter', 'caddyfile', '--config', file], { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder })
}

export const PROXIES: Readonly<Record<string, StartProxy>> = { nginx: startNginx, Caddy: startCaddy }

async function start(
  t: TestContext,
  port: number,
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<number> {
  const child = spawn(command, args, { env: { ...process.env, ...env } })
  t.after(() => child.kill('SIGTERM'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  await until(`${command} answers`, async () => {
    if (child.exitCode !== null) throw new Error(`${command} exited: ${output}`)
    return (await request(port, '/').catch(() => undefined)) !== undefined
  })
  return port
}

/** Sends header lines unchanged, in any spelling and any number. */
export function request(port: number, path: string, headerLines: readonly string[] = [], method = 'GET', body = '') {
  const length = body === '' ? [] : [`Content-Length: ${body.length}`]
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: app.example.com', 'Connection: close', ...length, ...headerLines]
  return sendBytes(port, `${lines.join('\r\n')}\r\n\r\n${body}`, false)
}
