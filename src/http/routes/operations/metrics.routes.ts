import type { Metrics } from '../../../metrics/metrics.ts'
import { MetricsView, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'

const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** If metrics are disabled, the path answers 404 (spec 4.5). */
export function metricsRoutes(app: App, metrics: Metrics | undefined): void {
  app.get(
    '/metrics',
    {
      config: { access: 'public', writes: false, isUncounted: true, isDisabled: metrics === undefined },
      schema: {
        operationId: 'metrics',
        summary: 'Get the metrics',
        description: 'Available if METRICS_ENABLED is true.',
        tags: ['Service'],
        response: { 200: MetricsView, ...refusals(404) },
      },
    },
    async (_request, reply) => reply.type(EXPOSITION_TYPE).send((await metrics?.expose()) ?? ''),
  )
}
