import { FORWARDED_HEADER, INSTANCE_HEADER } from '../../../shared/instance-header.ts'
import { described, refusals } from '../../answers/replies.ts'
import { isForwardedUnseen } from '../../observation/proxy-notice.ts'
import type { App } from '../../pipeline/app-type.ts'
import { HealthView } from './health.schemas.ts'

export type HealthParts = {
  /** Throws if the service cannot serve requests. */
  readonly isReady: () => Promise<void>
  /** The id of the database that the service uses. */
  readonly instanceId: string
  readonly trustProxy: boolean
}

export function healthRoutes(app: App, { isReady, instanceId, trustProxy }: HealthParts): void {
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
    async (request, reply) => {
      // The doctor compares this id with its own database, because another service may be listening on the port.
      reply.header(INSTANCE_HEADER, instanceId)
      // The doctor asks through the proxy in front, if there is one.
      if (isForwardedUnseen(request, trustProxy)) reply.header(FORWARDED_HEADER, 'ignored')
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
