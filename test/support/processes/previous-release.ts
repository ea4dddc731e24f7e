import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../databases/databases.ts'

export type PreviousRelease = {
  readonly version: string
  /** Its script that starts the service. */
  readonly main: string
  readonly latchkey: string
}

type Manifest = { readonly version: string; readonly dependencies: Readonly<Record<string, string>> }

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const RECORD = fileURLToPath(new URL('../../fixtures/previous-release.json', import.meta.url))

/**
 * The sources of the previous release, in a temporary folder. Node.js runs them as they are. Returns undefined, and skips the test, in a
 * folder without the history of the project whose origin cannot be reached.
 */
export function previousRelease(t: TestContext): PreviousRelease | undefined {
  const { version, commit } = JSON.parse(readFileSync(RECORD, 'utf8')) as { version: string; commit: string }
  const found = findCommit(version, commit)
  if (found === undefined) {
    assert.ok(!hasHistory(), `this clone has neither the tag v${version} nor the commit ${commit}`)
    t.skip(`the commit of ${version} is neither in this clone nor at its origin: run \`git fetch --unshallow --tags\``)
    return undefined
  }
  const folder = temporaryFolder(t)
  const archive = join(folder, 'release.tar')
  const packed = git('archive', `--output=${archive}`, found, 'src', 'migrations', 'package.json', 'package-lock.json')
  assert.equal(packed.status, 0, packed.stderr)
  execFileSync('tar', ['-x', '-f', archive, '-C', folder])
  const manifest = readManifest(folder)
  assert.equal(manifest.version, version, `${found} is not ${version}`)
  installDependencies(folder, manifest)
  return { version, main: join(folder, 'src', 'main.ts'), latchkey: join(folder, 'src', 'cli', 'latchkey.ts') }
}

/** A clone may lack tags, or the history; then the tag and the commit are fetched. */
function findCommit(version: string, commit: string): string | undefined {
  const tag = `v${version}`
  const inClone = () => resolveCommit(`refs/tags/${tag}`) ?? resolveCommit(commit)
  const fetched = () => {
    for (const what of [['tag', tag], [commit]]) git('fetch', '--quiet', '--no-tags', '--depth=1', 'origin', ...what)
    return inClone()
  }
  const found = inClone() ?? fetched()
  if (found !== undefined) assert.equal(found, commit, `the tag ${tag} and test/fixtures/previous-release.json name different commits`)
  return found
}

/** False in a shallow clone, and in a folder that is no clone. */
function hasHistory(): boolean {
  return git('rev-parse', '--is-shallow-repository').stdout.trim() === 'false'
}

function resolveCommit(name: string): string | undefined {
  const { status, stdout } = git('rev-parse', '--verify', '--quiet', `${name}^{commit}`)
  return status === 0 ? stdout.trim() : undefined
}

function git(...args: string[]) {
  // The clone may belong to another user than the one who runs the tests.
  return spawnSync('git', ['-c', 'safe.directory=*', ...args], { cwd: ROOT, encoding: 'utf8' })
}

/** Links the packages of this version if they satisfy the previous one, and installs its own otherwise. */
function installDependencies(folder: string, { dependencies }: Manifest): void {
  const own = join(ROOT, 'node_modules')
  const isSatisfied = Object.entries(dependencies).every(([name, range]) => satisfies(join(own, name), range))
  if (isSatisfied) symlinkSync(own, join(folder, 'node_modules'))
  else execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' })
}

function satisfies(packageFolder: string, range: string): boolean {
  if (!existsSync(packageFolder)) return false
  const [found, wanted] = [readManifest(packageFolder).version, range.replace(/^[\^~]/, '')].map((version) =>
    version.split('.').map(Number),
  )
  const [major, minor = 0, patch = 0] = found ?? []
  const [wantedMajor, wantedMinor = 0, wantedPatch = 0] = wanted ?? []
  return major === wantedMajor && (minor > wantedMinor || (minor === wantedMinor && patch >= wantedPatch))
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}
