import type { App } from '../pipeline/app-type.ts'
import { described, refusals } from '../pipeline/replies.ts'
import { HealthView } from './health.schemas.ts'

/** `isReady` throws when the service cannot serve. */
export function healthRoutes(app: App, isReady: () => Promise<void>): void {
  app.get(
    '/heartbeat',
    {
      config: { access: 'public', writes: false, isUncounted: true },
      schema: {
        operationId: 'heartbeat',
        summary: 'Tell whether the process lives',
        description: 'Stays 200 while the database is away.',
        tags: ['Service'],
        response: { 200: described(HealthView, 'It lives.'), ...refusals() },
      },
    },
    async () => ({ status: 'ok' as const }),
  )

  app.get(
    '/ready',
    {
      config: { access: 'public', writes: false },
      schema: {
        operationId: 'ready',
        summary: 'Tell whether the service can serve',
        description: 'Asks the database.',
        tags: ['Service'],
        response: { 200: described(HealthView, 'It can.'), ...refusals(503) },
      },
    },
    async () => {
      await isReady()
      return { status: 'ok' as const }
    },
  )
}
