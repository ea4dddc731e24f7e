import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { emptyState, mainCell } from '../site/elements/cards.ts'
import { actionForm } from '../site/elements/fields.ts'
import { queryText } from '../site/elements/paging.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Place } from '../site/page-routes.ts'
import { attemptCells, DELIVERY_ACTIONS, DeliveryStatus, deliveriesCard, deliveryStatus } from './deliveries.ts'
import { ageOf, timeOf } from './format.ts'

const PAGE_SIZE = 25
const Query = { status: DeliveryStatus, after: Type.Optional(Type.Integer({ minimum: 0, default: 0 })) }
const NO_FAILED = emptyState('No failed webhooks', 'Every webhook was delivered or is still being retried.')
const NOTHING = emptyState(
  'Nothing is waiting',
  'Webhooks that are waiting or could not be delivered appear here. WEBHOOK_URL names their receiver.',
)

const OFF = html`<p class="notice" role="status">Webhooks are off: WEBHOOK_URL is not set, so nothing is sent. Events of this time are not sent later.</p>\n`

/** Webhooks that wait, and webhooks that could not be delivered. */
export function consoleWebhooksRoutes({ get, action }: PageRoutes, { site, webhooks }: PageParts): void {
  const { root } = site

  get('/webhooks', {
    query: Query,
    async handle({ query }) {
      const { status = '', after = 0 } = query
      const failedOnly = status === 'failed'
      const [{ items, next }, state] = await Promise.all([webhooks.page({ failedOnly, after, size: PAGE_SIZE }), webhooks.state()])
      // The last webhook of a later page may have been delivered.
      if (items.length === 0 && after > 0) return { to: listPath({ status }) }
      const now = site.now()
      const list = deliveriesCard({
        title: 'Deliveries',
        heads: ['Event', 'About', 'Status'],
        rows: items.map((webhook) => [
          mainCell(html`<code>${webhook.type}</code>`, timeOf(webhook.occurredAt)),
          html`<a href="${root}/console/users/${webhook.userId}">user ${webhook.userId}</a>`,
          deliveryStatus(webhook, now),
          ...attemptCells(webhook, {
            name: `${webhook.type} about user ${webhook.userId}`,
            base: `${root}/console/webhooks/${webhook.id}`,
            place: placeText(query),
          }),
        ]),
        empty: failedOnly ? NO_FAILED : NOTHING,
        shown: status,
        to: (shown) => root + listPath({ status: shown }),
        start: after > 0 ? 'Oldest' : undefined,
        next: next === undefined ? undefined : root + listPath({ status, after: next }),
      })
      return {
        title: 'Webhooks',
        content: html`${webhooks.isOff ? OFF : ''}${state.stoppedAt === undefined ? '' : stopped(state.stoppedAt)}${list}`,
      }
    },
  })

  function stopped(at: number): Html {
    return html`<div class="notice warn"><p>The receiver answered 410 (gone) ${ageOf(at, site.now())}. Nothing is sent until you resume.</p></div>
${actionForm(`${root}/console/webhooks/resume`, 'Resume')}\n`
  }

  for (const [name, done] of DELIVERY_ACTIONS)
    action(`/webhooks/:webhook_id/${name}`, {
      asksForPassword: false,
      params: { webhook_id: Type.Integer() },
      query: Query,
      change: ({ actor, params }) => webhooks[name](actor, params.webhook_id),
      to: ({ query }) => listPath(query),
      notice: (isDone) => (isDone ? `webhook-${done}` : 'webhook-gone'),
    })

  action('/webhooks/resume', {
    asksForPassword: false,
    change: ({ actor }) => webhooks.resume(actor),
    to: '/console/webhooks',
    notice: 'webhooks-resumed',
  })
}

function listPath(shown: Place<typeof Query>): string {
  return `/console/webhooks${placeText(shown)}`
}

function placeText({ status, after }: Place<typeof Query>): string {
  return queryText({ status, after: after === 0 ? undefined : after })
}
