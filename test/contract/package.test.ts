import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/databases/databases.ts'
import { startMain } from '../support/processes/main-process.ts'
import { runNode } from '../support/processes/processes.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

type Manifest = { readonly version: string; readonly bin: { readonly latchkey: string } }

/** Packs the service and lays it out as an installation does: beside it what it depends on, and nothing that only development needs. */
function install(t: TestContext): string {
  const folder = temporaryFolder(t)
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT, stdio: 'pipe' })
  const [tarball = ''] = readdirSync(folder)
  const installed = join(folder, 'node_modules', 'latchkey')
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, tarball), '-C', installed, '--strip-components=1'])
  for (const path of productionDependencies()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    symlinkSync(join(ROOT, path), join(folder, path), 'junction')
  }
  return installed
}

function productionDependencies(): string[] {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, { dev?: boolean }> }
  return (
    Object.entries(lock.packages)
      .filter(([path, { dev }]) => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path) && !dev)
      .map(([path]) => path)
      // Binaries of other platforms are in the lock file, and not on this disk.
      .filter((path) => existsSync(join(ROOT, path)))
  )
}

test('the package runs from built JavaScript, with what it declares as dependencies alone', async (t) => {
  const installed = install(t)
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Manifest
  const bin = join(installed, manifest.bin.latchkey)
  const files = readdirSync(installed, { recursive: true }).map(String)
  const cwd = temporaryFolder(t)

  await t.test('it holds no TypeScript, no test and no setting, and what a reader looks for', () => {
    assert.deepEqual(
      files.filter((file) => /\.ts$|^src|^test|\.env|\.db$|secret\.key/.test(file)),
      [],
    )
    for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md']) assert.ok(files.includes(file), `${file} is missing`)
    assert.match(readFileSync(bin, 'utf8'), /^#!\/usr\/bin\/env node\n/)
  })

  await t.test('latchkey --version', async () => {
    const { code, stdout, stderr } = await runNode(t, bin, ['--version'], { cwd })
    assert.deepEqual([code, stdout, stderr], [0, `${manifest.version}\n`, ''])
  })

  await t.test('latchkey secret generate', async () => {
    const { code, stdout, stderr } = await runNode(t, bin, ['secret', 'generate'], { cwd })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^[\w-]{64}\n$/)
  })

  await t.test('latchkey user list reads on its thread', async () => {
    const { code, stdout, stderr } = await runNode(t, bin, ['user', 'list', '--json'], { cwd })
    assert.deepEqual([code, stdout, stderr], [0, '[]\n', ''])
  })

  await t.test('latchkey serve migrates its database and answers', async (st) => {
    const { url } = await startMain(st, { cwd, script: bin, args: ['serve'] })
    const heartbeat = await fetch(`${url}/heartbeat`)
    assert.deepEqual([heartbeat.status, await heartbeat.json()], [200, { status: 'ok' }])
    assert.equal((await fetch(`${url}/ready`)).status, 200)
  })
})

test('npm run sbom lists what the service depends on, and nothing that only development needs', () => {
  type Declared = { readonly scripts: { readonly sbom: string }; readonly dependencies: object; readonly devDependencies: object }
  const declared = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Declared
  const [command = '', file] = declared.scripts.sbom.split(' > ')
  assert.equal(file, 'sbom.json')
  const written = execFileSync('sh', ['-c', `${command} 2>/dev/null`], { cwd: ROOT, encoding: 'utf8' })
  const { bomFormat, components } = JSON.parse(written) as { bomFormat: string; components: { name: string }[] }
  assert.equal(bomFormat, 'CycloneDX')
  const listed = new Set(components.map(({ name }) => name))
  for (const name of Object.keys(declared.dependencies)) assert.ok(listed.has(name), `${name} is missing`)
  for (const name of Object.keys(declared.devDependencies)) assert.ok(!listed.has(name), `${name} is listed`)
})
