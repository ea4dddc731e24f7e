import { randomBytes } from 'node:crypto'
import { fchownSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '../shared/errors.ts'
import { createDraft, makeFolder } from '../shared/files.ts'
import type { Secrets } from './derived-keys.ts'

export const MAX_FORMER_SECRETS = 3
const RANDOM_BYTES = 48
const WEBHOOK_SECRET_BYTES = 32

export function generateSecretKey(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url')
}

/** A secret in the format of Standard Webhooks. */
export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(WEBHOOK_SECRET_BYTES).toString('base64')}`
}

/** The file beside a kept secret that has the former ones, one per line. */
export function formerSecretsFile(file: string): string {
  return `${file}.former`
}

/** Reads the secrets from their files. The first call creates one; of several processes that start together, one creates it. */
export function keptSecrets(file: string): Secrets {
  return readKeptSecrets(file) ?? makeKept(file)
}

/** Undefined if there is no secret yet. */
export function readKeptSecrets(file: string): Secrets | undefined {
  // In this order: a rotation writes the former secrets first, so a new secret is never read without them.
  const current = readText(file)?.trim()
  if (current === undefined) return undefined
  if (current.length < 32)
    throw new Error(
      `${file} does not contain a secret key; restore it from a backup, or delete it to end all sessions and create a new one`,
    )
  const lines = (readText(formerSecretsFile(file)) ?? '').split('\n').map((line) => line.trim())
  // A rotation that was interrupted leaves the current secret among the former ones.
  const formers = new Set(lines.filter((line) => line !== '' && line !== current))
  return [encode(current), ...[...formers].map(encode)]
}

/** Keeps the former secrets first, and then replaces the current one. Both files are replaced atomically, and keep their owner. */
export function replaceKeptSecret(file: string, next: Uint8Array, formers: readonly Uint8Array[]): void {
  const { uid, gid } = statSync(file)
  replaceFile(formerSecretsFile(file), formers, { uid, gid })
  replaceFile(file, [next], { uid, gid })
}

function replaceFile(file: string, secrets: readonly Uint8Array[], { uid, gid }: { readonly uid: number; readonly gid: number }): void {
  using draft = createDraft(file)
  const lines = secrets.map((secret) => `${new TextDecoder().decode(secret)}\n`)
  writeFileSync(draft.descriptor, lines.join(''))
  // The service must be able to read what root has written.
  if (process.getuid?.() === 0) fchownSync(draft.descriptor, uid, gid)
  draft.place({ mayReplace: true })
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function makeKept(file: string): Secrets {
  makeFolder(dirname(file))
  using draft = createDraft(file)
  writeFileSync(draft.descriptor, `${generateSecretKey()}\n`)
  try {
    // The first process wins, the others read its secret.
    draft.place({ mayReplace: false })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
  const kept = readKeptSecrets(file)
  if (kept === undefined) throw new Error(`${file} disappeared while it was created`)
  return kept
}
