import type { TotpSecret } from '../model/factor.ts'
import { deriveKeys, fingerprints, type Secrets } from './derived-keys.ts'
import { createSealer } from './sealing.ts'

/** Encrypts the secrets of apps, so that a copy of the database without SECRET_KEY reveals none. */
export type TotpSealer = {
  /** The fingerprints of the former secrets. */
  readonly formerSeals: readonly string[]
  sealFor(userId: number, secret: string): Pick<TotpSecret, 'secret' | 'sealedWith'>
  /** Undefined if neither SECRET_KEY nor a former one opens it. */
  open(sealed: Pick<TotpSecret, 'userId' | 'secret'>): string | undefined
}

export function createTotpSealer(secrets: Secrets): TotpSealer {
  const sealer = createSealer(deriveKeys(secrets, 'second-factor'))
  const [sealedWith, ...formerSeals] = fingerprints(secrets)
  return {
    formerSeals,
    sealFor: (userId, secret) => ({ secret: sealer.seal(secret, String(userId)), sealedWith }),
    open: ({ userId, secret }) => sealer.open(secret, String(userId))?.text,
  }
}
