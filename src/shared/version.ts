import { readFileSync } from 'node:fs'

/** The version of this service, from package.json. */
export function readVersion(): string {
  // In the published package and in a clone, package.json is in the same place relative to this file.
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  return version
}
