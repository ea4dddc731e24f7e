import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

export type Answer = { readonly status: number; readonly body: string; readonly tookMs: number }
export type Asked = {
  readonly method?: string
  readonly path: string
  readonly token?: string | undefined
  readonly key?: string
  readonly cookie?: string | undefined
  readonly body?: object
}

const agent = new Agent({ keepAlive: true })

/** Sends one request on a keep-alive connection. Resolves when the headers of the response have arrived. */
export async function open(url: string, { method = 'GET', path, token, key, cookie, body }: Asked): Promise<IncomingMessage> {
  const headers = {
    ...(token && { authorization: `Bearer ${token}` }),
    ...(key && { 'x-api-key': key }),
    ...(cookie && { cookie }),
    ...(body && { 'content-type': 'application/json' }),
  }
  const sent = request(`${url}${path}`, { method, headers, agent }).end(body && JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

/** Sends one request and reads the whole response. Throws on an error status, because a benchmark of refusals means nothing. */
export async function ask(url: string, asked: Asked): Promise<Answer> {
  const startedAt = performance.now()
  const response = await open(url, asked)
  const body = await text(response)
  const status = response.statusCode ?? 0
  if (status >= 300) throw new Error(`${asked.method ?? 'GET'} ${asked.path} returned ${status}: ${body}`)
  return { status, body, tookMs: performance.now() - startedAt }
}

export type Login = { readonly token: string; readonly refresh: string; readonly tookMs: number }

export async function logIn(url: string, email: string, password: string): Promise<Login> {
  const { body, tookMs } = await ask(url, { method: 'POST', path: '/login/', body: { email, password } })
  // The response to a successful login has two tokens.
  return { ...(JSON.parse(body) as { token: string; refresh: string }), tookMs }
}

/** Signs in on the pages, and returns the cookie. */
export async function signIn(url: string, email: string, password: string): Promise<string> {
  const response = await fetch(`${url}/console/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: url },
    body: new URLSearchParams({ email, password }).toString(),
  })
  const cookie = response.headers.get('set-cookie')?.split(';')[0]
  if (response.status !== 303 || cookie === undefined) throw new Error(`signing in returned ${response.status}`)
  return cookie
}

/** For a request that the service gave up at its deadline. Other errors are thrown. */
export function lateOnly(error: Error): undefined {
  if (!error.message.includes('returned 503')) throw error
}
