import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/databases/databases.ts'
import { PASSWORD } from '../support/http/requests.ts'
import { startMain } from '../support/processes/main-process.ts'
import { runNode } from '../support/processes/processes.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAX_INSTALLED_BYTES = 60_000_000

type Manifest = {
  readonly version: string
  readonly engines: { readonly node: string }
  readonly dependencies: object
  readonly devDependencies: object
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** Packs the service, and installs the tarball in an empty folder as a user of the package does. Returns that folder. */
function install(t: TestContext): string {
  const packed = temporaryFolder(t)
  const folder = temporaryFolder(t)
  execFileSync('npm', ['pack', '--silent', '--pack-destination', packed], { cwd: ROOT, stdio: 'pipe' })
  const [tarball = ''] = readdirSync(packed)
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--prefix', folder]
  execFileSync('npm', ['install', ...options, join(packed, tarball)], { cwd: folder, stdio: 'pipe' })
  return folder
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true }).reduce((sum, file) => sum + lstatSync(join(folder, String(file))).size, 0)
}

test('the package installs from its tarball, and works from there', async (t) => {
  const folder = install(t)
  const packageFolder = join(folder, 'node_modules/latchkey')
  const bin = join(folder, 'node_modules/.bin/latchkey')
  const { version, engines } = readManifest(packageFolder)

  await t.test('it is under 60 MB, and no package of it has an install script', () => {
    assert.ok(sizeOf(join(folder, 'node_modules')) < MAX_INSTALLED_BYTES)
    const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as { packages: Record<string, object> }
    const withScript = Object.entries(lock.packages).filter(([, entry]) => 'hasInstallScript' in entry)
    assert.deepEqual(withScript, [])
    for (const name of ['react', 'redoc', 'swagger-ui-dist', '@scarf/scarf'])
      assert.ok(!existsSync(join(folder, 'node_modules', name)), `${name} is installed`)
  })

  await t.test('it contains no TypeScript, test or setting, and has the documents and the licences of what it bundles', () => {
    const files = readdirSync(packageFolder, { recursive: true }).map(String)
    assert.deepEqual(
      files.filter((file) => /\.c?ts$|^src|^test|\.env|\.db$|secret\.key/.test(file)),
      [],
    )
    const explorers = 'dist/http/web/explorer/explorers'
    for (const file of [
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'SECURITY.md',
      `${explorers}/redoc/LICENSE`,
      `${explorers}/swagger-ui-dist/LICENSE`,
      `${explorers}/swagger-ui-dist/NOTICE`,
    ])
      assert.ok(files.includes(file), `${file} is missing`)
  })

  await t.test('npx latchkey --version prints the version', () => {
    const { status, stdout } = spawnSync('npx', ['--no-install', '--prefix', folder, 'latchkey', '--version'], {
      cwd: folder,
      encoding: 'utf8',
    })
    assert.deepEqual([status, stdout], [0, `${version}\n`])
  })

  await t.test('latchkey secret generate prints a secret', async () => {
    const { code, stdout, stderr } = await runNode(t, bin, ['secret', 'generate'], { cwd: folder })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^[\w-]{64}\n$/)
  })

  await t.test('latchkey user search reads on the reader thread', async () => {
    const args = ['user', 'create', '--admin', '--email', 'mia@example.com', '--first-name', 'Mia', '--last-name', 'Muster']
    assert.equal((await runNode(t, bin, args, { cwd: folder, input: `${PASSWORD}\n` })).code, 0)
    const { code, stdout, stderr } = await runNode(t, bin, ['user', 'search', 'mia', '--json'], { cwd: folder })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /"email": ?"mia@example\.com"/)
  })

  await t.test('latchkey upgrade --check migrates a copy in a process of its own', async () => {
    writeFileSync(join(folder, 'empty.db'), '')
    const { stdout, stderr } = await runNode(t, bin, ['upgrade', '--check', '--json'], {
      cwd: folder,
      env: { DATABASE_URL: 'sqlite:empty.db' },
    })
    assert.equal(stderr, '')
    assert.match(stdout, /"migration": "0001-accounts\.sql"/)
  })

  await t.test('latchkey serve answers, serves both explorers with their files, and passes the doctor', async (st) => {
    const { url, port } = await startMain(st, { cwd: folder, script: bin, args: ['serve'] })
    assert.equal((await fetch(`${url}/ready`)).status, 200)
    for (const page of ['/docs', '/redoc']) {
      const response = await fetch(url + page)
      assert.equal(response.status, 200)
      const files = [...(await response.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => new URL(link ?? '', url + page))
      assert.ok(files.length >= 3, `${page} loads its files`)
      for (const file of files) await assertLoads(file)
    }
    const { code, stdout, stderr } = await runNode(t, bin, ['doctor'], { cwd: folder, env: { PORT: String(port) } })
    assert.equal(stderr, '')
    assert.match(stdout, /ok +port +the service answers/)
    assert.equal(code, 0, stdout)
  })

  await t.test('a Node.js that is too old is reported in one line, and the exit code is 1', (st) => {
    const needed = Number(/\d+/.exec(engines.node))
    const oldNode = ['/usr/bin/node', '/usr/local/bin/node'].find((path) => {
      const printed = spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? ''
      const major = /^v(\d+)/.exec(printed)?.[1]
      return major !== undefined && Number(major) < needed
    })
    if (oldNode === undefined) return st.skip('this machine has no Node.js older than the one that is needed')
    const { status, stdout, stderr } = spawnSync(oldNode, [bin, 'serve'], { cwd: folder, encoding: 'utf8' })
    assert.deepEqual([status, stdout], [1, ''])
    assert.match(stderr, new RegExp(`^latchkey: needs Node\\.js ${needed} or newer, and this is v[\\d.]+\\n$`))
  })
})

/** Scripts import further files by themselves; those are checked too. */
async function assertLoads(file: URL): Promise<void> {
  const response = await fetch(file)
  const text = await response.text()
  assert.ok(response.status === 200 && text.length > 0, `${file.pathname} is missing`)
  const [, imported] = /^import \{ init \} from '([^']+)'/.exec(text) ?? []
  if (imported !== undefined) await assertLoads(new URL(imported, file))
}
