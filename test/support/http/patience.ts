import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import { eventually } from '../app/eventually.ts'

/**
 * Sends one of many concurrent requests, and sends it again if a busy machine answers it with 503. Nearly always such a request has changed
 * nothing. One whose commit was on its way has, and its repetition is refused.
 */
export function injectPatiently(app: App, request: InjectOptions): Promise<LightMyRequestResponse> {
  return eventually(`${request.method} ${request.url} is not answered with 503`, async () => {
    const response = await app.inject(request)
    return response.statusCode === 503 ? undefined : response
  })
}

/** Sends a request to a service in its own process, with the same patience. */
export function fetchPatiently(url: string, init: RequestInit = {}): Promise<Response> {
  return eventually(`${init.method ?? 'GET'} ${url} is not answered with 503`, async () => {
    const response = await fetch(url, init)
    if (response.status !== 503) return response
    await response.arrayBuffer()
    return undefined
  })
}
