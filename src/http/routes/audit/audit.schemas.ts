import { EVENT_PAGE_MAX_SIZE, EVENT_PAGE_SIZE, type EventPage } from '../../../domain/audit/audit.service.ts'
import { eventCursor } from '../../../domain/values/event-cursor.ts'
import type { EventPlace } from '../../../model/audit.ts'
import { AUDITED_KINDS, EVENT, type StoredEvent } from '../../../model/event.ts'
import { nullable, type Static, Type } from '../../validation/schema.ts'
import { UserId } from '../users/user.schemas.ts'

const INSTANT_EXAMPLE = '2026-01-31T09:30:00.000Z'

/** A time in a query arrives as text with an offset, and is a number inside. */
function instantField(description: string) {
  return Type.Unsafe<number>(Type.String({ format: 'date-time', description, examples: [INSTANT_EXAMPLE] }))
}

export const EventsQuery = Type.Object({
  kind: Type.Optional(Type.Enum([...AUDITED_KINDS], { description: 'Only events of this kind.' })),
  actor: Type.Optional({ ...UserId, description: 'Only events that this user has caused.' }),
  target: Type.Optional({ ...UserId, description: 'Only events about the account of this user.' }),
  since: Type.Optional(instantField('Only events at this time or later: ISO 8601 with an offset.')),
  until: Type.Optional(instantField('Only events at this time or earlier: ISO 8601 with an offset.')),
  cursor: Type.Optional(
    Type.Unsafe<EventPlace>(
      Type.String({ format: 'cursor', description: 'The `next` of the page before.', examples: ['1769851800000-812'] }),
    ),
  ),
  size: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: EVENT_PAGE_MAX_SIZE,
      default: EVENT_PAGE_SIZE,
      description: 'The maximum number of events on a page.',
    }),
  ),
})

export const EventView = Type.Object(
  {
    id: Type.Integer({ description: 'The id of the event.', examples: [812] }),
    at: Type.String({ format: 'date-time', description: 'When it happened, in UTC.', examples: [INSTANT_EXAMPLE] }),
    kind: Type.String({ description: 'What happened.', examples: ['user.banned'] }),
    actor: nullable(Type.Integer({ description: 'The id of the user who did it; null if nobody was logged in.', examples: [1] })),
    via: Type.Enum(['http', 'console', 'cli', 'start'], { description: 'Which way it came.' }),
    target: nullable(Type.Integer({ description: 'The id of the user whose account it concerns.', examples: [7] })),
    key_id: nullable(
      Type.String({ description: 'The id of the API key that it concerns.', examples: ['0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41'] }),
    ),
    ip: nullable(Type.String({ description: 'The IP address of the request.', examples: ['203.0.113.9'] })),
    request_id: nullable(Type.String({ description: 'The `X-Request-Id` of the response.', examples: ['4f0e9a573f6d1c8e'] })),
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

export const EventsView = Type.Object(
  {
    items: Type.Array(EventView, { description: 'The events of this page, newest first.' }),
    next: nullable(Type.String({ description: 'The `cursor` of the next page; null on the last one.', examples: ['1769851800000-812'] })),
  },
  { title: 'AuditEvents', description: 'One page of the audit trail.' },
)

export const eventView = EVENT.toJson satisfies (event: StoredEvent) => Static<typeof EventView>

export function eventsView({ items, next }: EventPage): Static<typeof EventsView> {
  return { items: items.map(eventView), next: next === undefined ? null : eventCursor(next) }
}
