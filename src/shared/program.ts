import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** How to run the command line, as typed in the folder where this process runs. */
export const COMMAND = commandFor(process.cwd(), import.meta.url)

/** `npm run` in a clone, `npx` where the package is installed, and the path of the program in every other folder. */
export function commandFor(folder: string, moduleUrl: string): string {
  const root = fileURLToPath(new URL('../..', moduleUrl))
  const isBuilt = moduleUrl.endsWith('.js')
  if (!isBuilt && join(folder, '/') === root) return 'npm run latchkey --'
  if (join(folder, 'node_modules/latchkey/') === root) return 'npx latchkey'
  const program = join(root, isBuilt ? 'dist/cli/latchkey.js' : 'src/cli/latchkey.ts')
  return `node ${/^[\w./:\\-]+$/.test(program) ? program : `"${program}"`}`
}

export function readVersion(): string {
  // In the published package and in a clone, package.json is in the same place relative to this file.
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  return version
}

/** The header of /heartbeat that names the database of a service: several services may run on one machine. */
export const INSTANCE_HEADER = 'latchkey-instance'
/** The header of /heartbeat that says that the client address of a proxy is ignored. */
export const FORWARDED_HEADER = 'latchkey-forwarded'
