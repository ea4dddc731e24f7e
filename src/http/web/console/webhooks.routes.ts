import type { WebhookAdministration } from '../../../domain/webhooks/webhook-administration.service.ts'
import type { Actor } from '../../../model/caller.ts'
import type { OutboxWebhook } from '../../../model/webhook.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Type } from '../../validation/schema.ts'
import { actionForm } from '../site/elements/fields.ts'
import { ageOf, timeOf } from '../site/elements/format.ts'
import { nextLink, queryText, startLink, stepsFooter } from '../site/elements/paging.ts'
import { emptyState, mainCell, tableCard, tabs } from '../site/elements/tables.ts'
import type { Notice } from '../site/messages.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import { attemptCells, deliveryStatus } from './mail.routes.ts'

export type ConsoleWebhooksParts = PageParts & { readonly webhooks: WebhookAdministration }

const PAGE_SIZE = 25
const Query = {
  status: Type.Optional(Type.Enum(['', 'failed'], { default: '' })),
  after: Type.Optional(Type.Integer({ minimum: 0, default: 0 })),
}
/** Which part of the list is shown. */
type Place = { readonly status?: '' | 'failed' | undefined; readonly after?: number | undefined }
const Webhook = { webhook_id: Type.Integer() }

/** Webhooks that wait, and webhooks that could not be delivered. */
export function consoleWebhooksRoutes(app: App, parts: ConsoleWebhooksParts): void {
  const { site, webhooks } = parts
  const { root } = site
  const { get, post } = createPageRoutes(app, parts, 'console')

  get('/webhooks', { query: Query }, async ({ query }) => {
    const { status = '', after = 0 } = query
    const failedOnly = status === 'failed'
    const [{ items, next }, state] = await Promise.all([webhooks.page({ failedOnly, after, size: PAGE_SIZE }), webhooks.state()])
    // The last webhook of a later page may have been delivered.
    if (items.length === 0 && after > 0) return { to: listPath({ status }) }
    const list = (place: Place) => root + listPath(place)
    const content = html`${state.stoppedAt === undefined ? '' : stopped(state.stoppedAt)}${tableCard({
      title: 'Deliveries',
      heads: ['Event', 'About', 'Status', 'Attempts', 'Last error'],
      rows: items.map((webhook) => rowOf(webhook, query)),
      hasActions: true,
      header: tabs('Status', [
        { to: list({}), text: 'All', isShown: !failedOnly },
        { to: list({ status: 'failed' }), text: 'Failed', isShown: failedOnly },
      ]),
      empty: failedOnly
        ? emptyState('No failed webhooks', 'Every webhook was delivered or is still being retried.')
        : emptyState(
            'Nothing is waiting',
            'Webhooks that are waiting or could not be delivered appear here. WEBHOOK_URL names their receiver.',
          ),
      footer: stepsFooter({
        back: after > 0 ? startLink(list({ status }), 'Oldest') : undefined,
        on: next === undefined ? undefined : nextLink(list({ status, after: next })),
      }),
    })}`
    return { title: 'Webhooks', content }
  })

  function stopped(at: number): Html {
    return html`<div class="notice warn"><p>The receiver answered 410 (gone) ${ageOf(at, site.now())}. Nothing is sent until you resume.</p></div>
${actionForm(`${root}/console/webhooks/resume`, 'Resume')}\n`
  }

  function rowOf(webhook: OutboxWebhook, shown: Place): readonly (Html | string)[] {
    const { id, type, userId, occurredAt } = webhook
    return [
      mainCell(html`<code>${type}</code>`, timeOf(occurredAt)),
      html`<a href="${root}/console/users/${userId}">user ${userId}</a>`,
      deliveryStatus(webhook, site.now()),
      ...attemptCells(webhook, `${root}/console/webhooks/${id}`, placeText(shown)),
    ]
  }

  action('retry', 'webhook-retried', (actor, id) => webhooks.retry(actor, id))
  action('discard', 'webhook-discarded', (actor, id) => webhooks.discard(actor, id))

  /** A webhook that was delivered meanwhile, or that is being sent, is left alone. */
  function action(name: string, notice: Notice, change: (actor: Actor, webhookId: number) => Promise<boolean>): void {
    post(`/webhooks/:webhook_id/${name}`, { asksForPassword: false, params: Webhook, query: Query }, async ({ params, query, actor }) => ({
      to: listPath(query),
      notice: (await change(actor, params.webhook_id)) ? notice : 'webhook-gone',
    }))
  }

  post('/webhooks/resume', { asksForPassword: false }, async ({ actor }) => {
    await webhooks.resume(actor)
    return { to: '/console/webhooks', notice: 'webhooks-resumed' }
  })
}

function listPath(shown: Place): string {
  return `/console/webhooks${placeText(shown)}`
}

function placeText({ status, after }: Place): string {
  return queryText({ status, after: after === 0 ? undefined : after })
}
