import type { FastifyReply, FastifyRequest } from 'fastify'
import type { IdentityRow, ProviderFlow } from '../../../model/provider.ts'
import type { DerivedKeys } from '../../../security/derived-keys.ts'
import { createSealer } from '../../../security/sealing.ts'
import type { PageArea } from '../../pipeline/declarations.ts'
import { isNotice, type Notice } from './messages.ts'
import { HAND_OFF_PATH, returnPath } from './site.ts'

/** The cookies of the pages: the session, a message for the next page, a new secret that the next page shows, and where a product waits. */
export type Cookies = ReturnType<typeof createCookies>

const LIFETIME_S = 12 * 60 * 60
/** For what the next page shows. */
const NEXT_PAGE_S = 60
const NOTICE_NAME = 'latchkey-notice'
const SECRET_NAME = 'latchkey-secret'
const NEXT_NAME = 'latchkey-next'
/** As long as the link of a verification mail works. */
const REMEMBERED_S = 24 * 60 * 60

/** Where a sign-in at a provider leads. */
type AfterFlow = {
  /** Undefined if it is too long for this cookie: see `rememberNext`. */
  readonly next: string | undefined
  /** Whether it connects the account at the provider to the account of the session that the browser has. */
  readonly connects: boolean
}

/** An identity, and the account that it is to be connected to. */
export type Connection = Pick<IdentityRow, 'provider' | 'issuer' | 'subject' | 'email' | 'userId'> & {
  /** The address of that account. */
  readonly accountEmail: string
  /** Whether a product waits, as `rememberNext` has it. */
  readonly isForProduct: boolean
  readonly expiresAt: number
}

type CookieParts = { readonly isSecure: boolean; readonly keys: DerivedKeys; readonly now: () => number }

/**
 * Scripts cannot read the cookies, and forms of other sites do not send them. With https, the prefix `__Host-` keeps every other host from
 * setting the session.
 */
export function createCookies({ isSecure, keys, now }: CookieParts) {
  const name = isSecure ? '__Host-latchkey' : 'latchkey'
  /** Signing in to one area leaves the session of the other as it is. */
  const sessionName = (area: PageArea | undefined) => (area === 'console' ? `${name}-console` : name)
  const areaOfRoute = ({ routeOptions }: FastifyRequest) => routeOptions.config.page
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  const sealer = createSealer(keys)
  const label = ({ caller }: FastifyRequest, keyId: string) => `${caller.sessionId} ${keyId}`

  function set(reply: FastifyReply, key: string, value: string, lifetimeS: number): void {
    reply.header('set-cookie', `${key}=${value}; Max-Age=${lifetimeS}; ${attributes}`)
  }

  /** Returns the value and removes its cookie, so that it is shown once. */
  function take(request: FastifyRequest, reply: FastifyReply, key: string): string | undefined {
    const value = readCookie(request, key)
    if (value !== undefined) set(reply, key, '', 0)
    return value
  }

  /** What only this browser has, for a while. Its name is part of the encryption: one cookie cannot be used as another. */
  function sealedCookie<Content extends { readonly expiresAt: number }>(key: string) {
    const cookieName = isSecure ? `__Host-${key}` : key
    const clear = (reply: FastifyReply) => set(reply, cookieName, '', 0)
    return {
      set: (reply: FastifyReply, content: Content) =>
        set(reply, cookieName, sealer.seal(JSON.stringify(content), cookieName), Math.ceil((content.expiresAt - now()) / 1000)),
      read(request: FastifyRequest): Content | undefined {
        const opened = sealer.open(readCookie(request, cookieName) ?? '', cookieName)
        // Only this service seals it.
        const content = opened && (JSON.parse(opened.text) as Content)
        return content !== undefined && content.expiresAt > now() ? content : undefined
      },
      clear,
    }
  }

  return {
    /** A sign-in that has begun at another provider. */
    flow: sealedCookie<ProviderFlow & AfterFlow>('latchkey-flow'),
    /** An account at another provider that its owner has shown to be theirs, and that waits to be connected. */
    connection: sealedCookie<Connection>('latchkey-connection'),
    readSession: (request: FastifyRequest) => readCookie(request, sessionName(areaOfRoute(request))),
    /** For the area of the route, unless signing in leads to another one. */
    setSession: (reply: FastifyReply, token: string, area = areaOfRoute(reply.request)) => set(reply, sessionName(area), token, LIFETIME_S),
    clearSession: (reply: FastifyReply) => set(reply, sessionName(areaOfRoute(reply.request)), '', 0),
    setNotice: (reply: FastifyReply, notice: Notice) => set(reply, NOTICE_NAME, notice, NEXT_PAGE_S),
    takeNotice(request: FastifyRequest, reply: FastifyReply): Notice | undefined {
      const notice = take(request, reply, NOTICE_NAME)
      return notice !== undefined && isNotice(notice) ? notice : undefined
    },
    /**
     * The secret is encrypted: the browser keeps no key in clear text, and several processes need no common memory. It opens only in the
     * session and for the key that it was created for.
     */
    setSecret(request: FastifyRequest, reply: FastifyReply, keyId: string, secret: string): void {
      set(reply, SECRET_NAME, sealer.seal(`${now() + NEXT_PAGE_S * 1000} ${secret}`, label(request, keyId)), NEXT_PAGE_S)
    },
    takeSecret(request: FastifyRequest, reply: FastifyReply, keyId: string): string | undefined {
      const sealed = take(request, reply, SECRET_NAME)
      const [until, secret] = sealed === undefined ? [] : (sealer.open(sealed, label(request, keyId))?.text.split(' ') ?? [])
      return Number(until) > now() ? secret : undefined
    },
    /** Remembers that a product waits, for somebody who has to open a mail or to set something up first. */
    rememberNext(reply: FastifyReply, next: string | undefined): void {
      if (next?.startsWith(`${HAND_OFF_PATH}?`)) set(reply, NEXT_NAME, returnPath(next, 'account'), REMEMBERED_S)
    },
    readNext: (request: FastifyRequest) => readCookie(request, NEXT_NAME),
    forgetNext: (request: FastifyRequest, reply: FastifyReply) => take(request, reply, NEXT_NAME),
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
