import { Readable } from 'node:stream'
import { EVENT_PAGE_SIZE } from '../../../domain/audit/audit.service.ts'
import { type AuditVerification, type EventFilter, type EventPlace, eventCursor } from '../../../model/audit.ts'
import { AUDITED_KINDS, EVENT, type StoredEvent, shownTime } from '../../../model/event.ts'
import { type Html, html } from '../../../shared/html.ts'
import { counted } from '../../../shared/text.ts'
import { eventView } from '../../routes/audit/audit.routes.ts'
import { Type } from '../../validation/schema.ts'
import { emptyState, mainCell, type Table, tableCard } from '../site/elements/cards.ts'
import { actionForm } from '../site/elements/fields.ts'
import { shortText, timeOf } from '../site/elements/format.ts'
import { queryText, stepLink, stepsFooter } from '../site/elements/paging.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'

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
export function consoleAuditRoutes({ get, post }: PageRoutes, parts: PageParts): void {
  const { audit } = parts
  const { root } = parts.site

  async function page(filter: EventFilter, cursor?: EventPlace, result?: Html): Promise<Page> {
    const { items, next } = await audit.list({ ...filter, cursor, size: EVENT_PAGE_SIZE })
    const list = (place?: EventPlace) => `${root}/console/audit${queryText({ ...filter, cursor: place && eventCursor(place) })}`
    const isFiltered = Object.values(filter).some((value) => value !== undefined)
    const footer = stepsFooter({ back: cursor && stepLink(list(), 'Newest'), on: next && stepLink(list(next), 'Older →') })
    const content = html`${result}<form class="filters" role="search" action="${root}/console/audit">
<div class="field wide"><label for="kind">Kind</label><select id="kind" name="kind"><option value="">All kinds</option>${AUDITED_KINDS.map((kind) => html`<option${kind === filter.kind ? html` selected` : ''}>${kind}</option>`)}</select></div>
${idField('actor', 'By user ID', filter.actor)}${idField('target', 'About user ID', filter.target)}
<button>Filter</button>
</form>
${eventsCard(root, items, { hidesTitle: true, empty: isFiltered ? noMatch(root) : NO_EVENTS, footer })}`
    const actions = html`${actionForm(`${root}/console/audit/verify`, 'Verify')}<form method="post" action="${root}/console/audit/download" data-download><button>Download</button></form>`
    return { title: 'Audit', content, actions }
  }

  get('/audit', {
    query: Query,
    handle: ({ query }) => page({ kind: query.kind || undefined, actor: idOf(query.actor), target: idOf(query.target) }, query.cursor),
  })

  // It changes nothing, but ends when its client disconnects, as a change does.
  post('/audit/verify', {
    asksForPassword: false,
    deadlineMs: VERIFY_WITHIN_MS,
    handle: async ({ request }) => page({}, undefined, resultOf(await audit.verify({ signal: request.origin.signal }))),
  })

  post('/audit/download', {
    asksForPassword: { to: 'download the audit trail' },
    isDownload: true,
    async handle({ actor }, reply) {
      const pages = await audit.export(actor)
      reply.header('content-disposition', 'attachment; filename="audit.ndjson"').type('application/x-ndjson; charset=utf-8')
      await reply.send(Readable.from(linesOf(pages), { objectMode: false }))
      return { isSent: true }
    },
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

const NO_EVENTS = emptyState('No events', 'Changes to accounts, sessions and API keys appear here.')

function noMatch(root: string): Html {
  return emptyState('No matching events', 'No event matches this filter.', html`<p><a href="${root}/console/audit">Show all events</a></p>`)
}

/** A table of events, newest first. */
export function eventsCard(
  root: string,
  events: readonly StoredEvent[],
  { hidesTitle = false, empty = NO_EVENTS, footer }: Partial<Pick<Table, 'hidesTitle' | 'empty' | 'footer'>>,
): Html {
  return tableCard({
    title: 'Events',
    hidesTitle,
    heads: ['Event', 'By', 'About', 'From', 'Details'],
    rows: events.map(({ at, kind, actor, target, via, ip, keyId, detail }) => [
      mainCell(html`<code>${kind}</code>`, timeOf(shownTime(at))),
      userLink(root, actor),
      userLink(root, target),
      ip === null ? via : html`<span class="wrap">${via}, <span class="mono">${ip}</span></span>`,
      detailText(keyId, detail),
    ]),
    empty,
    footer,
  })
}

function idField(name: string, label: string, value: number | undefined): Html {
  return html`<div class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" inputmode="numeric" autocomplete="off" value="${value === undefined || value === 0 ? '' : value}"></div>`
}

function userLink(root: string, id: number | null): Html | string {
  return id === null ? '' : html`<a href="${root}/console/users/${id}">user ${id}</a>`
}

/** `changed: email, first_name` */
function detailText(keyId: string | null, detail: string | null): Html | string {
  const facts = Object.entries({ ...(keyId !== null && { key: keyId }), ...EVENT.fields.detail.toJson(detail) })
  if (facts.length === 0) return ''
  const text = facts.map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : String(value)}`).join('; ')
  return html`<span class="wrap quiet">${shortText(text)}</span>`
}
