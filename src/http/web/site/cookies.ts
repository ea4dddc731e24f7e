import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DerivedKeys } from '../../../security/derived-keys.ts'
import { createSealer } from '../../../security/sealing.ts'
import { isNotice, type Notice } from './messages.ts'

/** The cookies of the pages: one that names the session, and one that carries a message to the next page. */
export type Cookies = {
  readSession(request: FastifyRequest): string | undefined
  setSession(reply: FastifyReply, token: string): void
  clearSession(reply: FastifyReply): void
  setNotice(reply: FastifyReply, notice: Notice): void
  /** Returns the message and removes its cookie, so that it is shown once. */
  takeNotice(request: FastifyRequest, reply: FastifyReply): Notice | undefined
  /** Carries a sealed value to the next page. */
  setFlash(reply: FastifyReply, sealed: string, lifetimeS: number): void
  takeFlash(request: FastifyRequest, reply: FastifyReply): string | undefined
}

const LIFETIME_S = 12 * 60 * 60
const NOTICE_LIFETIME_S = 60
const NOTICE_NAME = 'latchkey-notice'
const FLASH_NAME = 'latchkey-secret'

/**
 * Scripts cannot read the cookies, and forms of other sites do not send them. With https, the prefix `__Host-` keeps every other host from
 * setting the session.
 */
export function createCookies({ isSecure }: { readonly isSecure: boolean }): Cookies {
  const name = isSecure ? '__Host-latchkey' : 'latchkey'
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  const add = (reply: FastifyReply, key: string, value: string, lifetimeS: number) =>
    void reply.header('set-cookie', `${key}=${value}; Max-Age=${lifetimeS}; ${attributes}`)

  return {
    readSession: (request) => readCookie(request, name),
    setSession: (reply, token) => add(reply, name, token, LIFETIME_S),
    clearSession: (reply) => add(reply, name, '', 0),
    setNotice: (reply, notice) => add(reply, NOTICE_NAME, notice, NOTICE_LIFETIME_S),
    takeNotice(request, reply) {
      const notice = readCookie(request, NOTICE_NAME)
      if (notice === undefined) return undefined
      add(reply, NOTICE_NAME, '', 0)
      return isNotice(notice) ? notice : undefined
    },
    setFlash: (reply, sealed, lifetimeS) => add(reply, FLASH_NAME, sealed, lifetimeS),
    takeFlash(request, reply) {
      const sealed = readCookie(request, FLASH_NAME)
      if (sealed !== undefined) add(reply, FLASH_NAME, '', 0)
      return sealed
    },
  }
}

/** Of several cookies with one name, the first: browsers send the most specific one first. */
function readCookie({ headers }: FastifyRequest, name: string): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [key = '', ...value] = pair.split('=')
    if (key.trim() === name) return value.join('=').trim() || undefined
  }
  return undefined
}

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
