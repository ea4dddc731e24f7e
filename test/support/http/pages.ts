import assert from 'node:assert/strict'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import type { Actor } from '../app/actors.ts'

/** What a browser sends with a form of the same site. */
export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

/** A request for a page, as a browser sends it when its user follows a link. */
export function visit(url: string, cookie?: string): InjectOptions {
  return { method: 'GET', url, headers: { accept: 'text/html', ...(cookie !== undefined && { cookie }) } }
}

/** A form, as a browser sends it from a page of the same site. */
export function submit(url: string, fields: Readonly<Record<string, string>> = {}, cookie?: string): InjectOptions {
  const headers = {
    ...SAME_ORIGIN,
    'content-type': 'application/x-www-form-urlencoded',
    ...(cookie !== undefined && { cookie }),
  }
  return { method: 'POST', url, headers, payload: new URLSearchParams(fields).toString() }
}

/** The fields of a sign-in form. */
export function credentials({ email, password }: Pick<Actor, 'email' | 'password'>): Record<string, string> {
  return { email, password }
}

/** Signs in and returns the cookie of the session, as a browser sends it back. */
export async function signIn(app: App, actor: Pick<Actor, 'email' | 'password'>): Promise<string> {
  const response = await app.inject(submit('/account/sign-in', credentials(actor)))
  assert.equal(response.statusCode, 303, response.body)
  return sessionCookie(response)
}

/** The cookie of the session that a response sets. */
export function sessionCookie({ headers }: LightMyRequestResponse): string {
  const cookies = [headers['set-cookie'] ?? []].flat()
  return (
    cookies.map((cookie) => cookie.split(';')[0] ?? '').find((cookie) => /^(?:__Host-)?latchkey=/.test(cookie)) ?? assert.fail('no cookie')
  )
}

/** The text of a page, without tags and with entities decoded. */
export function textOf({ body }: LightMyRequestResponse): string {
  const text = body.replace(/<(?:head|script|style)[\s\S]*?<\/(?:head|script|style)>/g, ' ').replace(/<[^>]*>/g, ' ')
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ')
    .trim()
}
