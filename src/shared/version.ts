import { readFileSync } from 'node:fs'

/** The version of this service, as its package says. */
export function readVersion(): string {
  // What npm publishes and what a clone holds both have this file one folder above, and its version is a string.
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  return version
}
