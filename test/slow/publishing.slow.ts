import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { COMPILERS, compile, installPacked, lendPackages, RESOLUTIONS } from '../support/client/packed.ts'
import { ROOT, read } from '../support/documents.ts'

type Manifest = {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly description: string
  readonly keywords: readonly string[]
  readonly repository: { readonly type: string; readonly url: string; readonly directory: string }
  readonly publishConfig: { readonly access: string }
}
type Published = { readonly id: string; readonly files: readonly { readonly path: string }[] }

for (const name of ['client', 'conformance'])
  test(`npm publish --dry-run accepts @latchkey/${name}, with nothing but its build`, () => {
    const manifest = JSON.parse(read(`packages/${name}/package.json`)) as Manifest
    const { version } = JSON.parse(read('package.json')) as Manifest
    assert.deepEqual([manifest.name, manifest.version, manifest.license], [`@latchkey/${name}`, version, 'MIT'])
    assert.deepEqual([manifest.repository.type, manifest.repository.directory], ['git', `packages/${name}`])
    assert.ok(manifest.repository.url.startsWith('git+https://') && manifest.description.length > 20 && manifest.keywords.length >= 4)
    // A package with a scope is private unless it says otherwise.
    assert.equal(manifest.publishConfig.access, 'public')
    const cwd = join(ROOT, 'packages', name)
    const { status, stdout, stderr } = spawnSync('npm', ['publish', '--dry-run', '--json'], { cwd, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    // What npm corrects in a package is a mistake of the package.
    assert.doesNotMatch(stderr, /auto-corrected|errors corrected/)
    assert.match(stderr, /with tag latest and public access/)
    const printed = JSON.parse(stdout) as Published | Readonly<Record<string, Published>>
    const published = 'id' in printed ? (printed as Published) : Object.values(printed)[0]
    assert.equal(published?.id, `${manifest.name}@${version}`)
    const unexpected = published?.files.filter(({ path }) => !/^dist\/.*(\.js|\.d\.ts)$|^(package\.json|README\.md|LICENSE)$/.test(path))
    assert.deepEqual(unexpected, [])
  })

/** What somebody writes who checks an implementation. */
const PROGRAM = `
import { describeChecks, isConforming, type Run, reportJson, reportJunit, reportText, type RunOptions, runConformance, Unusable } from '@latchkey/conformance'

const options: RunOptions = { url: 'http://127.0.0.1:1', adminKey: 'lk_none', only: ['login'], onProgress: (done, total) => console.log(done / total) }
export async function check(): Promise<boolean> {
  const run: Run = await runConformance(options)
  for (const line of reportText(run)) console.log(line)
  console.log(reportJson(run), reportJunit(run), describeChecks())
  return isConforming(run)
}
export const isUnusable = (error: unknown): boolean => error instanceof Unusable
// @ts-expect-error: an address is needed.
await runConformance({ adminKey: 'lk_none' })
`
const ONCE = `
import { runConformance, Unusable } from '@latchkey/conformance'
await runConformance({ url: 'http://127.0.0.1:1', adminKey: 'lk_none' }).catch((error) => console.log(error instanceof Unusable))
`

test('the conformance checks are packed, installed into an empty folder, and work there', async (t) => {
  const folder = installPacked(t, 'conformance', '--prefer-offline')
  writeFileSync(join(folder, 'once.mjs'), ONCE)
  assert.equal(execFileSync(process.execPath, ['once.mjs'], { cwd: folder, encoding: 'utf8', env: {} }), 'true\n')
  writeFileSync(join(folder, 'program.ts'), PROGRAM)
  lendPackages(folder, ['@types', 'undici-types'])
  for (const [compiler, path] of Object.entries(COMPILERS))
    for (const [resolution, options] of Object.entries(RESOLUTIONS))
      await t.test(`${compiler} compiles a program that uses them, with ${resolution}`, () => {
        const platform = { lib: ['es2023', 'dom', 'dom.iterable'], types: ['node'], skipLibCheck: true }
        assert.deepEqual(compile(folder, path, ['program.ts'], { ...platform, ...options }), [0, ''])
      })
})
