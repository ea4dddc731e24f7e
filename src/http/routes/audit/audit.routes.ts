import { type Audit, EVENT_PAGE_SIZE } from '../../../domain/audit/audit.service.ts'
import { described, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { EventsQuery, EventsView, eventsView } from './audit.schemas.ts'

export function auditRoutes(app: App, audit: Audit): void {
  app.get(
    '/audit/',
    {
      config: { access: 'admin', acceptedKeys: 'read', writes: false },
      schema: {
        operationId: 'listEvents',
        summary: 'List the audit trail',
        description: 'Newest first, a page at a time. All filters that are given have to match.',
        tags: ['Audit trail'],
        querystring: EventsQuery,
        response: { 200: described(EventsView, 'One page of the audit trail.'), ...refusals(401, 403, 503) },
      },
    },
    async ({ query: { size = EVENT_PAGE_SIZE, ...query } }) => eventsView(await audit.list({ ...query, size })),
  )
}
