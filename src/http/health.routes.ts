import type { App } from './app-type.ts'
import { HealthView } from './health.schemas.ts'
import { refusals } from './replies.ts'

/** `isReady` throws when the service cannot serve. */
export function healthRoutes(app: App, isReady: () => Promise<void>): void {
  app.get(
    '/heartbeat',
    { config: { access: 'public', isUncounted: true }, schema: { response: { 200: HealthView, ...refusals() } } },
    async () => ({
      status: 'ok' as const,
    }),
  )

  app.get('/ready', { config: { access: 'public' }, schema: { response: { 200: HealthView, ...refusals(503) } } }, async () => {
    await isReady()
    return { status: 'ok' as const }
  })
}
