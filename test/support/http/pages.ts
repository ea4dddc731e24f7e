import assert from 'node:assert/strict'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import type { Actor } from '../app/actors.ts'
import { postForm } from './requests.ts'

/** What a browser sends with a form of the same site. */
export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

/** A request for a page, as a browser sends it when its user follows a link. */
export function visit(url: string, cookie?: string): InjectOptions {
  return { method: 'GET', url, headers: { accept: 'text/html', ...(cookie !== undefined && { cookie }) } }
}

/** A form, as a browser sends it from a page of the same site. */
export function submit(url: string, fields: Readonly<Record<string, string>> = {}, cookie?: string): InjectOptions {
  return postForm(url, fields, { ...SAME_ORIGIN, ...(cookie !== undefined && { cookie }) })
}

/** The fields of a sign-in form. */
export function credentials({ email, password }: Pick<Actor, 'email' | 'password'>): Record<string, string> {
  return { email, password }
}

/** Signs in and returns the cookies of both areas, as a browser sends them back after signing in to each. Both name one session. */
export async function signIn(app: App, actor: Pick<Actor, 'email' | 'password'>): Promise<string> {
  const response = await app.inject(submit('/account/sign-in', credentials(actor)))
  assert.equal(response.statusCode, 303, response.body)
  return bothCookies(sessionCookie(response))
}

/** The cookie of a session, in the names of both areas. */
export function bothCookies(cookie: string): string {
  const [name = '', token = ''] = cookie.split('=')
  const plain = name.replace(/-console$/, '')
  return `${plain}=${token}; ${plain}-console=${token}`
}

/** The cookie of the session that a response sets. */
export function sessionCookie({ headers }: LightMyRequestResponse): string {
  const cookies = [headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';')[0] ?? '')
  return cookies.find((cookie) => /^(?:__Host-)?latchkey(?:-console)?=/.test(cookie)) ?? assert.fail('no cookie')
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }

/** The text of a page, without tags and with entities decoded. */
export function textOf({ body }: LightMyRequestResponse): string {
  const text = body.replace(/<(?:head|script|style)[\s\S]*?<\/(?:head|script|style)>/g, ' ').replace(/<[^>]*>/g, ' ')
  const decoded = text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => ENTITIES[name] ?? '')
  return decoded.replace(/\s+/g, ' ').trim()
}
