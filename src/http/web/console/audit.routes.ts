import { Readable } from 'node:stream'
import { type Audit, EVENT_PAGE_SIZE } from '../../../domain/audit/audit.service.ts'
import { eventCursor } from '../../../domain/values/event-cursor.ts'
import type { AuditVerification, EventFilter, EventPlace } from '../../../model/audit.ts'
import { AUDITED_KINDS, type StoredEvent } from '../../../model/event.ts'
import { counted } from '../../../shared/counted.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/app-type.ts'
import { eventView } from '../../routes/audit/audit.schemas.ts'
import { Type } from '../../validation/schema.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import { auditPage } from './audit.pages.ts'

export type ConsoleAuditParts = PageParts & { readonly audit: Audit }

// A field that is left empty in the form arrives as empty text.
const UserId = Type.Optional(Type.String({ trimmed: true, maxLength: 16, default: '' }))
const Query = {
  kind: Type.Optional(Type.Enum(['', ...AUDITED_KINDS], { default: '' })),
  actor: UserId,
  target: UserId,
  cursor: Type.Optional(Type.Unsafe<EventPlace>(Type.String({ format: 'cursor' }))),
}
// Verification reads every event. The command line has all the time that it needs.
const VERIFY_WITHIN_MS = 25_000

/** The audit trail: who did what, and when. */
export function consoleAuditRoutes(app: App, parts: ConsoleAuditParts): void {
  const { site, audit } = parts
  const { get, post } = createPageRoutes(app, parts, 'console')

  async function page(shown: EventFilter, cursor?: EventPlace, result?: Html): Promise<Page> {
    const { items, next } = await audit.list({ ...shown, cursor, size: EVENT_PAGE_SIZE })
    return auditPage(site, { filter: shown, items, isLater: cursor !== undefined, next: next && eventCursor(next), result })
  }

  get('/audit', { query: Query }, ({ query }) =>
    page({ kind: query.kind || undefined, actor: idOf(query.actor), target: idOf(query.target) }, query.cursor),
  )

  // It changes nothing, but ends when its client disconnects, as a change does.
  post('/audit/verify', { asksForPassword: false, deadlineMs: VERIFY_WITHIN_MS }, async ({ request }) =>
    page({}, undefined, resultOf(await audit.verify({ signal: request.origin.signal }))),
  )

  post('/audit/download', { asksForPassword: { to: 'download the audit trail' }, isDownload: true }, async ({ actor, reply }) => {
    const pages = await audit.export(actor)
    reply.header('content-disposition', 'attachment; filename="audit.ndjson"').type('application/x-ndjson; charset=utf-8')
    await reply.send(Readable.from(linesOf(pages), { objectMode: false }))
    return { isSent: true }
  })
}

async function* linesOf(pages: AsyncIterable<readonly StoredEvent[]>): AsyncIterable<string> {
  for await (const events of pages) yield events.map((event) => `${JSON.stringify(eventView(event))}\n`).join('')
}

/** Whatever is not an id matches no user. */
function idOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  return /^\d{1,15}$/.test(text) ? Number(text) : 0
}

function resultOf({ problem, sealed, unsealed }: AuditVerification): Html {
  if (problem === undefined)
    return html`<p class="notice good" role="status">The audit trail is complete and unchanged: ${counted(sealed, 'sealed event')}, ${unsealed} waiting to be sealed.</p>`
  const place = problem.eventId === undefined ? '' : ` at event ${problem.eventId}`
  return html`<p class="notice bad" role="alert">The audit trail is not as it was sealed${place}: ${problem.reason}.</p>`
}
