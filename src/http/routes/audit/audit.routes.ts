import { type Audit, EVENT_PAGE_MAX_SIZE, EVENT_PAGE_SIZE, type EventPage } from '../../../domain/audit/audit.service.ts'
import { type EventPlace, eventCursor } from '../../../model/audit.ts'
import { AUDITED_KINDS, EVENT, type StoredEvent } from '../../../model/event.ts'
import { described } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { defaulted, instant, integer, nullable, type Static, Type, text, timestamp } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { UserId } from '../users/user.schemas.ts'

const INSTANT_EXAMPLE = '2026-01-31T09:30:00.000Z'

const EventsQuery = Type.Object({
  kind: Type.Optional(Type.Enum([...AUDITED_KINDS], { description: 'Only events of this kind.' })),
  actor: Type.Optional({ ...UserId, description: 'Only events that this user has caused.' }),
  target: Type.Optional({ ...UserId, description: 'Only events about the account of this user.' }),
  since: Type.Optional(instant('Only events at this time or later: ISO 8601 with an offset.', INSTANT_EXAMPLE)),
  until: Type.Optional(instant('Only events at this time or earlier: ISO 8601 with an offset.', INSTANT_EXAMPLE)),
  cursor: Type.Optional(Type.Unsafe<EventPlace>(text('The `next` of the page before.', '1769851800000-812', { format: 'cursor' }))),
  size: defaulted(
    Type.Integer({
      minimum: 1,
      maximum: EVENT_PAGE_MAX_SIZE,
      default: EVENT_PAGE_SIZE,
      description: 'The maximum number of events on a page.',
    }),
  ),
})

const EventView = Type.Object(
  {
    id: integer('The id of the event.', 812),
    at: timestamp('When it happened, in UTC.'),
    kind: text('What happened.', 'user.banned'),
    actor: nullable(integer('The id of the user who did it; null if nobody was logged in.', 1)),
    via: Type.Enum(['http', 'console', 'cli', 'start'], { description: 'Which way it came.' }),
    target: nullable(integer('The id of the user whose account it concerns.', 7)),
    key_id: nullable(text('The id of the API key that it concerns.', '0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41')),
    ip: nullable(text('The IP address of the request.', '203.0.113.9')),
    request_id: nullable(text('The `X-Request-Id` of the response.', '4f0e9a573f6d1c8e')),
    detail: nullable(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        description: 'Names of changed fields, counts, the id of a session, the URL of a leak. Never a value, a password or a token.',
        examples: [{ changed: ['email'] }],
      }),
    ),
  },
  { title: 'AuditEvent', description: 'A security-relevant change.' },
)

const EventsView = Type.Object(
  {
    items: Type.Array(EventView, { description: 'The events of this page, newest first.' }),
    next: nullable(text('The `cursor` of the next page; null on the last one.', '1769851800000-812')),
  },
  { title: 'AuditEvents', description: 'One page of the audit trail.' },
)

export const eventView = EVENT.toJson satisfies (event: StoredEvent) => Static<typeof EventView>

function eventsView({ items, next }: EventPage): Static<typeof EventsView> {
  return { items: items.map(eventView), next: next === undefined ? null : eventCursor(next) }
}

export function auditRoutes(app: App, audit: Audit): void {
  const api = createApiRoutes(app, 'Audit trail')
  api.get('/audit/', 'listEvents', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    summary: 'List the audit trail',
    description: 'Newest first, a page at a time. All filters that are given have to match.',
    querystring: EventsQuery,
    response: { 200: described(EventsView, 'One page of the audit trail.') },
    handle: async ({ query }) => eventsView(await audit.list(query)),
  })
}
