import type { Metrics } from '../../../metrics/metrics.ts'
import { FORWARDED_HEADER, INSTANCE_HEADER } from '../../../shared/program.ts'
import { described, MetricsView } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { isForwardedUnseen } from '../../pipeline/request-log.ts'
import { Type } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'

const HealthView = Type.Object(
  { status: Type.Literal('ok', { description: 'Always `ok`.' }) },
  { title: 'Health', description: 'The state of the service.' },
)

type HealthParts = {
  /** Throws if the service cannot serve requests. */
  readonly isReady: () => Promise<void>
  /** The id of the database that the service uses. */
  readonly instanceId: string
  readonly trustProxy: boolean
}

export function healthRoutes(app: App, { isReady, instanceId, trustProxy }: HealthParts): void {
  const api = createApiRoutes(app, 'Service')
  api.get('/heartbeat', 'heartbeat', {
    config: { access: 'public', writes: false, isStatic: true, isUncounted: true },
    summary: 'Check that the process is running',
    description: 'Returns 200 even while the database is unavailable.',
    response: { 200: described(HealthView, 'The process is running.') },
    handle: async (request, reply) => {
      // The doctor compares this id with its own database, because another service may be listening on the port.
      reply.header(INSTANCE_HEADER, instanceId)
      // The doctor asks through the proxy in front, if there is one.
      if (isForwardedUnseen(request, { trustProxy })) reply.header(FORWARDED_HEADER, 'ignored')
      return { status: 'ok' as const }
    },
  })

  api.get('/ready', 'ready', {
    config: { access: 'public', writes: false },
    summary: 'Check that the service can serve requests',
    description: 'Queries the database.',
    response: { 200: described(HealthView, 'The service can serve requests.') },
    handle: async () => {
      await isReady()
      return { status: 'ok' as const }
    },
  })
}

const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** If metrics are disabled, the path answers 404 (spec 4.5). */
export function metricsRoutes(app: App, metrics: Metrics | undefined): void {
  const api = createApiRoutes(app, 'Service')
  api.get('/metrics', 'metrics', {
    config: { access: 'public', writes: false, isStatic: true, isUncounted: true, isDisabled: metrics === undefined },
    summary: 'Get the metrics',
    description: 'Available if METRICS_ENABLED is true.',
    response: { 200: MetricsView },
    handle: async (_request, reply) => reply.type(EXPOSITION_TYPE).send((await metrics?.expose()) ?? ''),
  })
}
