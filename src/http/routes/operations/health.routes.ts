import { INSTANCE_HEADER } from '../../../shared/instance-header.ts'
import { described, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { HealthView } from './health.schemas.ts'

/** `isReady` throws if the service cannot serve requests. `instanceId` is the id of the database that it uses. */
export function healthRoutes(app: App, isReady: () => Promise<void>, instanceId: string): void {
  app.get(
    '/heartbeat',
    {
      config: { access: 'public', writes: false, isUncounted: true },
      schema: {
        operationId: 'heartbeat',
        summary: 'Check that the process is running',
        description: 'Returns 200 even while the database is unavailable.',
        tags: ['Service'],
        response: { 200: described(HealthView, 'The process is running.'), ...refusals() },
      },
    },
    async (_request, reply) => {
      // The doctor compares this id with its own database, because another service may be listening on the port.
      reply.header(INSTANCE_HEADER, instanceId)
      return { status: 'ok' as const }
    },
  )

  app.get(
    '/ready',
    {
      config: { access: 'public', writes: false },
      schema: {
        operationId: 'ready',
        summary: 'Check that the service can serve requests',
        description: 'Queries the database.',
        tags: ['Service'],
        response: { 200: described(HealthView, 'The service can serve requests.'), ...refusals(503) },
      },
    },
    async () => {
      await isReady()
      return { status: 'ok' as const }
    },
  )
}
