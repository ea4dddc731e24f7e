import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryFolder } from '../databases/databases.ts'
import { ROOT } from '../documents.ts'

/** Packs a package of this repository, and installs the tarball in an empty folder. Returns that folder. */
export function installPacked(t: TestContext, name: string, ...npmOptions: readonly string[]): string {
  const packed = temporaryFolder(t)
  const folder = temporaryFolder(t)
  execFileSync('npm', ['pack', '--silent', '--pack-destination', packed], { cwd: join(ROOT, 'packages', name), stdio: 'pipe' })
  const [tarball = ''] = readdirSync(packed)
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const options = [...npmOptions, '--no-audit', '--no-fund', '--prefix', folder]
  execFileSync('npm', ['install', ...options, join(packed, tarball)], { cwd: folder, stdio: 'pipe' })
  return folder
}

/** Adds packages of this repository, whose types a program needs. */
export function lendPackages(folder: string, names: readonly string[]): void {
  for (const name of names) symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
}

// Packages with the compiler and without its command, which would replace that of the version that the project uses.
export const COMPILERS = {
  'TypeScript 5.4': 'typescript-5.4/typescript/bin/tsc',
  'TypeScript 5.9': '@tsd/typescript/typescript/bin/tsc',
  'TypeScript 6': 'typescript-6/typescript/bin/tsc',
  'TypeScript 7': 'typescript/bin/tsc',
}

/** The ways in which a compiler finds the types of a package, for programs that run in Node.js. */
export const RESOLUTIONS = {
  node16: { module: 'node16', moduleResolution: 'node16' },
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
}

const STRICT = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true, target: 'es2022' }

/** Compiles programs in the folder. Returns the exit code and what the compiler printed. */
export function compile(
  folder: string,
  compiler: string,
  files: readonly string[],
  options: object,
): [status: number | null, printed: string] {
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...STRICT, ...options }, files }))
  const { status, stdout } = spawnSync(process.execPath, [join(ROOT, 'node_modules', compiler)], { cwd: folder, encoding: 'utf8' })
  return [status, stdout]
}
