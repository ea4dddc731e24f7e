import { checkBoolean } from '../../../domain/import/field-checks.ts'
import { Rejected } from '../../../domain/import/imported-user.ts'
import type { JsonObject } from '../../../model/entity.ts'
import { defineSource, fromTimestamp, plain, type Source, splitName } from './source.ts'

/** The parameters of the project, which its hashes cannot be verified without. */
export type HashConfig = {
  readonly signerKey: string
  readonly saltSeparator: string
  readonly rounds: number
  readonly memoryCost: number
}

/** Reads the block that the console of Firebase shows. Undefined if a parameter is missing, or if the algorithm is another. */
export function parseHashConfig(text: string): HashConfig | undefined {
  const read = (name: string) => new RegExp(`["']?${name}["']?\\s*[:=]\\s*["']?([A-Za-z0-9+/=_-]+)`).exec(text)?.[1]
  const signerKey = read('base64_signer_key')
  const saltSeparator = read('base64_salt_separator')
  const [rounds, memoryCost] = [Number(read('rounds')), Number(read('mem_cost'))]
  if (read('algorithm')?.toUpperCase() !== 'SCRYPT' || signerKey === undefined || saltSeparator === undefined) return undefined
  return rounds > 0 && memoryCost > 0 ? { signerKey, saltSeparator, rounds, memoryCost } : undefined
}

/** The export of `firebase auth:export`. */
export function createFirebase(config: HashConfig | undefined): Source {
  return defineSource({
    title: 'Firebase',
    listName: 'users',
    mark: 'localId',
    isUser: (record) => 'localId' in record,
    fields: plain('email', 'emailVerified', 'displayName', 'disabled', 'createdAt', 'lastSignedInAt', 'passwordHash', 'salt'),
    convert: (record) => ({
      email: record.email,
      ...splitName(record.displayName),
      verified: checkBoolean('emailVerified', record.emailVerified) ?? false,
      banned: checkBoolean('disabled', record.disabled) ?? false,
      created_at: fromTimestamp(record.createdAt),
      last_login_at: fromTimestamp(record.lastSignedInAt),
      password_hash: hashOf(record, config),
    }),
  })
}

function hashOf({ passwordHash, salt }: JsonObject, config: HashConfig | undefined): string | undefined {
  if (typeof passwordHash !== 'string' || passwordHash === '') return undefined
  if (config === undefined) throw new Rejected('password_hash: needs the parameters of the project; give them with --hash-config')
  const { signerKey, saltSeparator, rounds, memoryCost } = config
  return `$fbscrypt$v=1,n=${memoryCost},r=${rounds},p=1,ss=${standard(saltSeparator)},sk=${standard(signerKey)}$${standard(salt)}$${standard(passwordHash)}`
}

/** Some exports have the base64 of URLs. */
function standard(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll('-', '+').replaceAll('_', '/') : ''
}
