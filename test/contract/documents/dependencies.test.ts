import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
type Manifest = {
  readonly version: string
  readonly engines: { readonly node: string }
  readonly dependencies: object
  readonly devDependencies: object
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

test('npm run sbom lists every dependency and both explorers with their licences, and no development dependency', () => {
  const { dependencies, devDependencies } = readManifest(ROOT)
  type Component = { readonly name: string; readonly version: string; readonly licenses?: unknown }
  const printed = execFileSync(process.execPath, ['scripts/sbom.ts'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1e8 })
  const { bomFormat, components } = JSON.parse(printed) as { bomFormat: string; components: Component[] }
  assert.equal(bomFormat, 'CycloneDX')
  const bundled: Readonly<Record<string, string>> = { redoc: 'MIT', 'swagger-ui-dist': 'Apache-2.0' }
  const listed = new Set(components.map(({ name }) => name))
  for (const name of Object.keys(dependencies)) assert.ok(listed.has(name), `${name} is missing`)
  for (const name of Object.keys(devDependencies)) assert.equal(listed.has(name), name in bundled, `${name} is listed`)
  for (const [name, licence] of Object.entries(bundled)) {
    const { version } = readManifest(join(ROOT, 'node_modules', name))
    const component = components.find((candidate) => candidate.name === name)
    assert.deepEqual([component?.version, component?.licenses], [version, [{ license: { id: licence } }]])
  }
})

test('the lock file names no registry', () => {
  assert.doesNotMatch(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'), /"resolved"/)
})
