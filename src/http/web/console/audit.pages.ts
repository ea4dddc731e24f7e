import type { EventFilter } from '../../../model/audit.ts'
import { AUDITED_KINDS, EVENT, type StoredEvent, shownTime } from '../../../model/event.ts'
import { type Html, html } from '../../../shared/html.ts'
import { actionForm } from '../site/elements/fields.ts'
import { shortText, timeOf } from '../site/elements/format.ts'
import { nextLink, queryText, startLink, stepsFooter } from '../site/elements/paging.ts'
import { emptyState, mainCell, type Table, tableCard } from '../site/elements/tables.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'

export type AuditView = {
  readonly filter: EventFilter
  readonly items: readonly StoredEvent[]
  /** Whether newer events come before these. */
  readonly isLater: boolean
  /** The cursor of the next page. */
  readonly next: string | undefined
  /** What a verification found. */
  readonly result?: Html | undefined
}

export function auditPage({ root }: Site, { filter, items, isLater, next, result }: AuditView): Page {
  const list = (cursor?: string) => `${root}/console/audit${queryText({ ...filter, cursor })}`
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  const footer = stepsFooter({
    back: isLater ? startLink(list(), 'Newest') : undefined,
    on: next === undefined ? undefined : nextLink(list(next), 'Older →'),
  })
  const content = html`${result}<form class="filters" role="search" action="${root}/console/audit">
<div class="field wide"><label for="kind">Kind</label><select id="kind" name="kind"><option value="">All kinds</option>${AUDITED_KINDS.map((kind) => html`<option${kind === filter.kind ? html` selected` : ''}>${kind}</option>`)}</select></div>
${idField('actor', 'By user ID', filter.actor)}${idField('target', 'About user ID', filter.target)}
<button>Filter</button>
</form>
${eventsCard(root, items, { hidesTitle: true, empty: isFiltered ? noMatch(root) : NO_EVENTS, footer })}`
  const actions = html`${actionForm(`${root}/console/audit/verify`, 'Verify')}<form method="post" action="${root}/console/audit/download" data-download><button>Download</button></form>`
  return { title: 'Audit', content, actions }
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
