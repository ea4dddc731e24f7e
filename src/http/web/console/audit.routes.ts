import { Readable } from 'node:stream'
import { type AuditVerification, type EventFilter, type EventPlace, eventCursor } from '../../../model/audit.ts'
import { AUDITED_KINDS, EVENT, type StoredEvent, shownTime } from '../../../model/event.ts'
import { type Html, html } from '../../../shared/html.ts'
import { counted } from '../../../shared/text.ts'
import { eventView } from '../../routes/audit/audit.routes.ts'
import { Type } from '../../validation/schema.ts'
import { emptyState, mainCell, type Table, tableCard } from '../site/elements/cards.ts'
import { actionForm } from '../site/elements/fields.ts'
import { shortText } from '../site/elements/format.ts'
import { queryText, stepLink, stepsFooter } from '../site/elements/paging.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Place } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import { timeOf } from './format.ts'

// A field that is left empty in the form arrives as empty text.
const UserReference = Type.Optional(Type.String({ trimmed: true, maxLength: 254, default: '' }))
const Day = Type.Optional(Type.String({ trimmed: true, maxLength: 10, default: '' }))
const PAGE_SIZE = 40
const DAY_MS = 24 * 60 * 60_000
const Query = {
  kind: Type.Optional(Type.Enum(['', ...AUDITED_KINDS], { default: '' })),
  actor: UserReference,
  target: UserReference,
  from: Day,
  to: Day,
  cursor: Type.Optional(Type.Unsafe<EventPlace>(Type.String({ format: 'cursor' }))),
}
type AuditQuery = Place<typeof Query>
// Verification reads every event. The command line has all the time that it needs.
const VERIFY_WITHIN_MS = 25_000

/** The audit trail: who did what, and when. */
export function consoleAuditRoutes({ get, post }: PageRoutes, parts: PageParts): void {
  const { audit, userDirectory } = parts
  const { root } = parts.site

  /** The id of a user, by id or by address. 0, which nobody has, where there is no such user. */
  async function idOf(reference: string): Promise<number | undefined> {
    if (reference === '') return undefined
    if (/^\d{1,15}$/.test(reference)) return Number(reference)
    return (await userDirectory.idOfAddress(reference)) ?? 0
  }

  async function filterOf({ kind, actor = '', target = '', from = '', to = '' }: AuditQuery): Promise<EventFilter> {
    const [actorId, targetId] = await Promise.all([idOf(actor), idOf(target)])
    const end = dayOf(to)
    return {
      kind: kind || undefined,
      actor: actorId,
      target: targetId,
      since: dayOf(from),
      until: end === undefined ? undefined : end + DAY_MS - 1,
    }
  }

  async function page(query: AuditQuery, result?: Html): Promise<Page> {
    const { kind, actor, target, from, to, cursor } = query
    const { items, next } = await audit.list({ ...(await filterOf(query)), cursor, size: PAGE_SIZE })
    const emails = await userDirectory.addressesOf(idsIn(items))
    const list = (place?: EventPlace) =>
      `${root}/console/audit${queryText({ kind, actor, target, from, to, cursor: place && eventCursor(place) })}`
    const isFiltered = Boolean(kind || actor || target || from || to)
    const footer = stepsFooter({ back: cursor && stepLink(list(), 'Newest'), on: next && stepLink(list(next), 'Older →') })
    const content = html`${result}<form class="filters" role="search" action="${root}/console/audit">
<div class="field"><label for="kind">Kind</label><select id="kind" name="kind"><option value="">All kinds</option>${AUDITED_KINDS.map((name) => html`<option${name === kind ? html` selected` : ''}>${name}</option>`)}</select></div>
${filterField('actor', 'By user', actor)}${filterField('target', 'About user', target)}${filterField('from', 'From day', from)}${filterField('to', 'To day', to)}
<button>Filter</button>
</form>
<p class="hint">Users by address or ID. Days are in UTC.</p>
${eventsCard(root, items, { emails, hidesTitle: true, empty: isFiltered ? noMatch(root) : NO_EVENTS, footer })}`
    const actions = html`${actionForm(`${root}/console/audit/verify`, 'Verify')}<form method="post" action="${root}/console/audit/download" data-download><button>Download</button></form>`
    return { title: 'Audit', content, actions }
  }

  get('/audit', { query: Query, handle: ({ query }) => page(query) })

  // It changes nothing, but ends when its client disconnects, as a change does.
  post('/audit/verify', {
    asksForPassword: false,
    deadlineMs: VERIFY_WITHIN_MS,
    handle: async ({ request }) => page({}, resultOf(await audit.verify({ signal: request.origin.signal }))),
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

/** The beginning of a day in UTC, such as `2026-01-31`; undefined for anything else. */
function dayOf(text: string): number | undefined {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}

/** The users whom events are by or about. */
export function idsIn(events: readonly StoredEvent[]): readonly number[] {
  return [...new Set(events.flatMap(({ actor, target }) => [actor, target]).filter((id) => id !== null))]
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

type EventList = Partial<Pick<Table, 'hidesTitle' | 'empty' | 'footer'>> & {
  /** The addresses of the users, where they still have an account. */
  readonly emails: ReadonlyMap<number, string>
}

/** A table of events, newest first. */
export function eventsCard(
  root: string,
  events: readonly StoredEvent[],
  { emails, hidesTitle = false, empty = NO_EVENTS, footer }: EventList,
): Html {
  return tableCard({
    title: 'Events',
    hidesTitle,
    heads: ['Event', 'By', 'About', 'From', 'Details'],
    rows: events.map(({ at, kind, actor, target, via, ip, keyId, detail }) => [
      mainCell(html`<code>${kind}</code>`, timeOf(shownTime(at))),
      userLink(root, actor, emails),
      userLink(root, target, emails),
      ip === null ? via : html`<span class="wrap">${via}, <span class="mono">${ip}</span></span>`,
      detailText(keyId, detail),
    ]),
    empty,
    footer,
  })
}

function filterField(name: 'actor' | 'target' | 'from' | 'to', label: string, value = ''): Html {
  const type = name === 'from' || name === 'to' ? 'date' : 'text'
  return html`<div class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" autocomplete="off" spellcheck="false" value="${value}"></div>`
}

function userLink(root: string, id: number | null, emails: ReadonlyMap<number, string>): Html | string {
  if (id === null) return ''
  const email = emails.get(id)
  const link = html`<a href="${root}/console/users/${id}">user ${id}</a>`
  return email === undefined ? link : html`<span class="wrap">${shortText(email, 60)} ${link}</span>`
}

/** `changed: email, first_name` */
function detailText(keyId: string | null, detail: string | null): Html | string {
  const facts = Object.entries({ ...(keyId !== null && { key: keyId }), ...EVENT.fields.detail.toJson(detail) })
  if (facts.length === 0) return ''
  const text = facts.map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : String(value)}`).join('; ')
  return html`<span class="wrap quiet">${shortText(text)}</span>`
}
