import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { credentials, sessionCookie, submit, visit } from '../http/pages.ts'
import type { Actor } from './actors.ts'
import type { TestApp } from './start-app.ts'

export const PRODUCT = 'https://app.example.com'
export const WITH_PRODUCT = { RETURN_ORIGINS: PRODUCT } as const

/** What a page of the product keeps, and the query with which it begins a sign-in. */
export function beginSignIn(returnTo = `${PRODUCT}/`) {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return { verifier, state, query: String(new URLSearchParams({ return_to: returnTo, code_challenge: challenge, state })) }
}

/** The hidden fields of a form. */
export function hiddenFields({ body }: Pick<LightMyRequestResponse, 'body'>): Record<string, string> {
  const fields = [...body.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
  return Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]))
}

/** Follows redirects of this service. Returns the response that leads elsewhere, or that leads nowhere. */
export async function follow({ app }: Pick<TestApp, 'app'>, response: LightMyRequestResponse, cookie: string) {
  let last = response
  for (let n = 0; n < 5 && String(last.headers.location ?? '').startsWith('/'); n++)
    last = await app.inject(visit(String(last.headers.location), cookie))
  return last
}

/** The code in the address of the product to which a response leads, with the state. */
export function arrived({ statusCode, headers, body }: LightMyRequestResponse, state: string, returnTo = `${PRODUCT}/`): string {
  assert.equal(statusCode, 303, body)
  const url = new URL(String(headers.location))
  assert.deepEqual([`${url.origin}${url.pathname}`, url.searchParams.get('state')], [returnTo, state])
  assert.match(String(headers['cache-control']), /no-store/)
  return url.searchParams.get('code') ?? assert.fail('no code')
}

/** Signs somebody in on the pages, and hands them to the product. Needs a product in the settings. */
export async function handedOff(service: Pick<TestApp, 'app'>, { email, password }: Pick<Actor, 'email' | 'password'>) {
  const { verifier, state, query } = beginSignIn()
  const form = await service.app.inject(visit(`/account/sign-in?${query}`))
  const signedIn = await service.app.inject(submit('/account/sign-in', { ...hiddenFields(form), ...credentials({ email, password }) }))
  const cookie = sessionCookie(signedIn)
  return { code: arrived(await follow(service, signedIn, cookie), state), verifier, cookie }
}

/** A code as if the pages had issued it, with its verifier. */
export async function issuedCode({ app, services }: TestApp, actor: Actor): Promise<{ code: string; code_verifier: string }> {
  const cookie = sessionCookie(await app.inject(submit('/account/sign-in', credentials(actor))))
  const caller = await services.authentication.byPageToken(cookie.slice(cookie.indexOf('=') + 1))
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return { code: await services.handOffs.issue({ caller, origin: { via: 'http' } }, challenge), code_verifier: verifier }
}
