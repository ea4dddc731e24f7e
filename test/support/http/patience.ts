import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { App } from '../../../src/http/pipeline/app-type.ts'
import { eventually } from '../app/eventually.ts'

/**
 * Sends one of many concurrent requests. On a busy machine some of them wait for too long: they are answered with 503, have changed nothing, and
 * are sent again.
 */
export function injectPatiently(app: App, request: InjectOptions): Promise<LightMyRequestResponse> {
  return eventually(`${request.method} ${request.url} is not answered with 503`, async () => {
    const response = await app.inject(request)
    return response.statusCode === 503 ? undefined : response
  })
}
