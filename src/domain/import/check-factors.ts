import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../model/entity.ts'
import { parseEmail } from '../values/email.ts'
import { MAX_PASSKEYS } from '../values/limits.ts'
import { checkFields, checkList, checkObject, checkParsed, checkShape, checkWholeNumber } from './field-checks.ts'
import {
  type ImportedIdentity,
  type ImportedPasskey,
  type ImportedTotp,
  MOVED_IDENTITY,
  MOVED_PASSKEY,
  MOVED_TOTP,
  NO_NAME,
  Rejected,
} from './imported-user.ts'

const MAX_RECOVERY_CODES = 100
const MAX_TRANSPORTS = 10
/** A time step of the year 11,000. */
const MAX_STEP = 10 ** 10
const MAX_COUNTER = 2 ** 32 - 1

const base64url = (minLength: number, maxLength: number) =>
  checkShape(new RegExp(`^[\\w-]{${minLength},${maxLength}}$`), `${minLength} to ${maxLength} characters of base64url`)
const checkTotpFields = checkFields(MOVED_TOTP.fields, {
  secret: checkShape(/^[A-Z2-7]{16,128}$/, '16 to 128 letters and digits of base32, in upper case and without padding'),
  lastStep: checkWholeNumber(MAX_STEP),
  salt: base64url(16, 64),
  recoveryCodes: checkTexts(base64url(43, 43), MAX_RECOVERY_CODES),
})
const checkPasskeyFields = checkFields(MOVED_PASSKEY.fields, {
  id: checkShape(/^[\w-]{1,64}$/, '1 to 64 letters, digits, hyphens and underscores'),
  credentialId: base64url(1, 1400),
  publicKey: base64url(1, 3000),
  counter: checkWholeNumber(MAX_COUNTER),
  transports: checkTexts(checkShape(/^[a-z-]{1,20}$/, 'the name of a transport, such as internal'), MAX_TRANSPORTS),
})

const checkIdentityFields = checkFields(MOVED_IDENTITY.fields, {
  issuer: checkShape(/^https?:\/\/\S{1,500}$/, 'the URL of an issuer'),
  subject: checkShape(/^[^\p{Cc}\p{Cs}]{1,255}$/u, '1 to 255 characters without control characters'),
  provider: checkShape(/^[a-z][a-z0-9]{0,31}$/, 'the name of a provider'),
  email: checkParsed(parseEmail, 'an e-mail address'),
})
const MAX_IDENTITIES = 20

/** The accounts of other providers that open the account. */
export function checkIdentities(value: unknown): readonly ImportedIdentity[] {
  return checkList('providers', value, MAX_IDENTITIES).map((entry, index) => {
    const name = `providers[${index}]`
    const { issuer, subject, provider, email = '', connectedAt, proven } = checkIdentityFields(checkObject(name, entry) ?? {}, `${name}.`)
    if (issuer === undefined || subject === undefined || provider === undefined)
      throw new Rejected(`${name}: needs provider, issuer and subject`)
    return { issuer, subject, provider, email, connectedAt, proven }
  })
}

/** The secret of an app, which asks for codes from the import on. Undefined if the user has none. */
export function checkTotp(value: unknown): ImportedTotp | undefined {
  const given = checkObject('totp', value)
  if (given === undefined) return undefined
  const { secret, lastStep = 0, salt = '', recoveryCodes = [], ...times } = checkTotpFields(given, 'totp.')
  if (secret === undefined) throw new Rejected('totp.secret: is missing')
  if (recoveryCodes.length > 0 && salt === '') throw new Rejected('totp.salt: is missing, which the recovery codes need')
  return { ...times, secret, lastStep, salt, recoveryCodes: [...new Set(recoveryCodes)] }
}

export function checkPasskeys(value: unknown): readonly ImportedPasskey[] {
  return checkList('passkeys', value, MAX_PASSKEYS).map((given, index) => checkPasskey(given, `passkeys[${index}]`))
}

function checkPasskey(value: unknown, name: string): ImportedPasskey {
  const given: JsonObject = checkObject(name, value) ?? {}
  const { credentialId, publicKey, ...others } = checkPasskeyFields(given, `${name}.`)
  if (credentialId === undefined || publicKey === undefined) throw new Rejected(`${name}: needs credential_id and public_key`)
  return {
    ...others,
    credentialId,
    publicKey,
    id: others.id ?? randomUUID(),
    name: others.name ?? NO_NAME,
    counter: others.counter ?? 0,
    transports: others.transports ?? [],
    backedUp: others.backedUp ?? false,
  }
}

/** The check of a list whose entries all have one shape. */
function checkTexts(check: (name: string, value: unknown) => string | undefined, maxLength: number) {
  return (name: string, value: unknown): string[] =>
    checkList(name, value, maxLength).map((entry, index) => {
      const text = check(`${name}[${index}]`, entry)
      if (text === undefined) throw new Rejected(`${name}[${index}]: is empty`)
      return text
    })
}
