import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DerivedKeys } from '../../../security/derived-keys.ts'
import { createSealer } from '../../../security/sealing.ts'
import type { Cookies } from './cookies.ts'

/** Carries a new secret to the next page, which shows it once. */
export type SecretFlash = {
  set(request: FastifyRequest, reply: FastifyReply, keyId: string, secret: string): void
  /** Returns the secret and removes its cookie. */
  take(request: FastifyRequest, reply: FastifyReply, keyId: string): string | undefined
}

const LIFETIME_MS = 60_000

/**
 * The secret is in a cookie of one minute, encrypted: the browser keeps no key in clear text, and several processes need no common memory.
 * It opens only in the session and for the key that it was created for.
 */
export function createSecretFlash(keys: DerivedKeys, cookies: Cookies, now: () => number): SecretFlash {
  const sealer = createSealer(keys)
  const label = ({ caller }: FastifyRequest, keyId: string) => `${caller.sessionId} ${keyId}`
  return {
    set(request, reply, keyId, secret) {
      cookies.setFlash(reply, sealer.seal(`${now() + LIFETIME_MS} ${secret}`, label(request, keyId)), LIFETIME_MS / 1000)
    },
    take(request, reply, keyId) {
      const sealed = cookies.takeFlash(request, reply)
      const [until, secret] = sealed === undefined ? [] : (sealer.open(sealed, label(request, keyId))?.text.split(' ') ?? [])
      return Number(until) > now() ? secret : undefined
    },
  }
}
