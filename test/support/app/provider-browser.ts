import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'
import type { App } from '../../../src/http/pipeline/declarations.ts'

/** A browser, as far as cookies and links go. */
export function createBrowser({ app }: { readonly app: App }) {
  const jar = new Map<string, string>()
  const headersOf = () => ({
    accept: 'text/html',
    cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
    'sec-fetch-site': 'same-origin',
  })

  function keep(response: LightMyRequestResponse): LightMyRequestResponse {
    for (const cookie of [response.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  return {
    jar,
    open: async (url: string, service: App = app) => keep(await service.inject({ url: pathOf(url), headers: headersOf() })),
    send: async (url: string, fields: Readonly<Record<string, string>> = {}) =>
      keep(
        await app.inject({
          method: 'POST',
          url,
          headers: { ...headersOf(), 'content-type': 'application/x-www-form-urlencoded' },
          payload: new URLSearchParams(fields).toString(),
        }),
      ),
    isSignedIn: () => jar.has('latchkey'),
  }
}

export type Browser = ReturnType<typeof createBrowser>

/** The path and the query of an address of the service. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url, 'http://localhost')
  return `${pathname}${search}`
}

/** Where a response leads. */
export function leadsTo(response: LightMyRequestResponse): string {
  assert.equal(response.statusCode, 303, response.body)
  return String(response.headers.location)
}
