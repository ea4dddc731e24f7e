import type { FastifyRequest } from 'fastify'
import { isCleanText } from '../../../domain/values/text.ts'
import { Type } from '../../validation/schema.ts'
import { InvalidRequest } from '../../validation/validation-error.ts'
import type { Cookies } from './cookies.ts'
import { HAND_OFF_PATH, type Site } from './site.ts'

/** An address of the product. Only `returnAddress` makes one, so that no page leads anywhere else. */
export type ReturnAddress = string & { readonly isOfProduct: true }

/** A sign-in that a page of the product has begun. */
export type HandOff = { readonly returnTo: ReturnAddress; readonly codeChallenge: string; readonly state: string | undefined }

const ADDRESS_MAX_LENGTH = 1000
const STATE_MAX_LENGTH = 200
export const ReturnTo = Type.Optional(Type.String({ maxLength: ADDRESS_MAX_LENGTH }))
/** The parameters of a page that hands people to the product. Each is declared as optional: `parseHandOff` says what is missing. */
export const HAND_OFF_QUERY = {
  return_to: ReturnTo,
  code_challenge: Type.Optional(Type.String({ maxLength: ADDRESS_MAX_LENGTH })),
  state: Type.Optional(Type.String({ maxLength: STATE_MAX_LENGTH })),
} as const

type Given = { readonly [Name in keyof typeof HAND_OFF_QUERY]?: string | undefined }

// A scheme, a host without a user, and a path or a query without a fragment. The URL parser would accept other spellings of these.
const PLAIN_ADDRESS = /^https?:\/\/[^\s\\@/?#]+(?:[/?][^\s\\#]*)?$/i
// SHA-256 in base64url (RFC 7636, 4.2).
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/
// RFC 6749, appendix A.5.
const STATE = /^[\x20-\x7e]+$/
/** The parameters that the product gets. It must not have them already. */
const OWN_NAMES = ['code', 'state']

/** The address in a parameter, as the URL parser writes it. Refuses one that is not on an origin of the product. */
export function returnAddress({ returnOrigins }: Pick<Site, 'returnOrigins'>, text: string): ReturnAddress {
  const isPlain = text.length <= ADDRESS_MAX_LENGTH && isCleanText(text) && PLAIN_ADDRESS.test(text)
  const url = isPlain ? URL.parse(text) : null
  if (url === null || url.username !== '' || url.password !== '' || !returnOrigins.has(url.origin))
    throw invalid('return_to', 'an address on the origin of FRONTEND_URL or of RETURN_ORIGINS, without user and fragment')
  if (OWN_NAMES.some((name) => url.searchParams.has(name))) throw invalid('return_to', 'an address without code and state')
  // Compared above: the origin is one of those that the settings name.
  return url.href as ReturnAddress
}

/** Reads the parameters of a hand-off. Undefined without any of them; otherwise all of them have to be right (422). */
export function parseHandOff(site: Pick<Site, 'returnOrigins'>, given: Given): HandOff | undefined {
  const { return_to: text, code_challenge: codeChallenge = '', state } = given
  if (text === undefined && given.code_challenge === undefined && state === undefined) return undefined
  const returnTo = returnAddress(site, text ?? '')
  if (!CHALLENGE.test(codeChallenge)) throw invalid('code_challenge', 'a challenge of the method S256: 43 characters in base64url')
  if (state !== undefined && !STATE.test(state)) throw invalid('state', 'visible ASCII characters')
  return { returnTo, codeChallenge, state }
}

function invalid(name: keyof typeof HAND_OFF_QUERY, form: string): InvalidRequest {
  return new InvalidRequest([{ loc: ['query', name], type: 'value_error', msg: `Value error, ${name} should be ${form}` }])
}

/** The page that completes a hand-off. It needs a session, and everything that other pages need of one. */
export function handOffPath({ returnTo, codeChallenge, state }: HandOff): string {
  const query = { return_to: returnTo, code_challenge: codeChallenge, ...(state !== undefined && { state }) }
  return `${HAND_OFF_PATH}?${new URLSearchParams(query)}`
}

/** The address of the product with the code, and with the state that the product has sent. */
export function addressWithCode({ returnTo, state }: HandOff, code: string): ReturnAddress {
  const url = new URL(returnTo)
  const added = new URLSearchParams({ code, ...(state !== undefined && { state }) })
  url.search = [url.search.slice(1), added].filter(String).join('&')
  // Still on the same origin: only the query is longer.
  return url.href as ReturnAddress
}

/** Where a page of this service leads in the end, if that is the product. */
export function productOrigin(site: Site, next: string | undefined): string | undefined {
  if (!next?.startsWith(`${HAND_OFF_PATH}?`)) return undefined
  const { return_to: text = '' } = Object.fromEntries(new URLSearchParams(next.slice(HAND_OFF_PATH.length)))
  try {
    return new URL(returnAddress(site, text)).origin
  } catch {
    return undefined
  }
}

type Arrival = { readonly query: Given & { readonly next?: string | undefined }; readonly request: FastifyRequest }

/**
 * What signing in or registering leads to: the hand-off that the query names, the page that it names, or a hand-off that this browser has
 * begun earlier. Somebody who is signed in passes at once.
 */
export function arrivalOf({ site, cookies }: { readonly site: Site; readonly cookies: Cookies }) {
  return ({ query, request }: Arrival) => {
    const handOff = parseHandOff(site, query)
    if (handOff === undefined) return { next: query.next ?? cookies.readNext(request) }
    const next = handOffPath(handOff)
    return cookies.readSession(request) === undefined ? { next } : ({ to: next, isAtOnce: true } as const)
  }
}
