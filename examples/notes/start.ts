// Starts Latchkey with a temporary database, and the example in front of it: `npm run example`.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const HOST = '127.0.0.1'

/** Packs the client and installs it here, as a product installs it from the registry. */
function installClient(folder: string): void {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: join(ROOT, 'packages/client'),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  const options = ['--offline', '--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--silent']
  execFileSync('npm', ['install', ...options, join(folder, tarball)], { cwd: HERE, stdio: ['ignore', 'ignore', 'inherit'] })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, HOST, () => {
      const address = server.address()
      server.close(() => (typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port is free'))))
    })
  })
}

/** The providers to sign in with, if the environment names any. */
function providerSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(?:SIGN_IN_PROVIDERS$|PROVIDER_)/.test(name)))
}

/** Resolves when Latchkey serves. Prints the mails that it would send. */
function startLatchkey(folder: string, port: number, productUrl: string): Promise<() => void> {
  const child = spawn(process.execPath, [join(ROOT, 'src/main.ts')], {
    cwd: folder,
    env: {
      ...providerSettings(),
      PATH: process.env['PATH'],
      PORT: String(port),
      API_TITLE: 'Notes',
      RETURN_ORIGINS: productUrl,
      PASSKEY_ORIGINS: productUrl,
      CORS_ORIGINS: productUrl,
      EMAIL_SIGN_IN: 'true',
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`Latchkey ended with ${code}`)))
    createInterface(child.stdout).on('line', (line) => {
      if (line.startsWith('Mail to ')) print(`  ${line}\n`)
      if (line.includes(' listens on ')) resolve(() => child.kill())
    })
  })
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

const folder = mkdtempSync(join(tmpdir(), 'latchkey-example-'))
print('Preparing the example …')
installClient(folder)
// Imported after the client is installed, which it imports.
const { createProduct } = await import('./server.ts')
const portOf = async (name: string) => Number(process.env[name] ?? (await freePort()))
const [port, latchkeyPort] = [await portOf('PORT'), await portOf('LATCHKEY_PORT')]
const [url, latchkeyUrl] = [`http://localhost:${port}`, `http://localhost:${latchkeyPort}`]
const stopLatchkey = await startLatchkey(folder, latchkeyPort, url)
const product = createProduct(latchkeyUrl).listen(port, HOST)

function stop(): void {
  stopLatchkey()
  product.close()
  product.closeAllConnections()
}
process.once('SIGINT', stop).once('SIGTERM', stop)
process.once('exit', () => {
  // Also after an error, such as a port that is taken.
  stopLatchkey()
  rmSync(folder, { recursive: true, force: true })
})

print(`
  Notes      ${url}
  Latchkey   ${latchkeyUrl}/docs

  Create an account, open the link of the mail that appears below, and sign in.
  Everything is removed when you stop the example with Ctrl-C.
`)
