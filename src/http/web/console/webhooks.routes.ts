import type { WebhookAdministration } from '../../../domain/delivery/webhook-administration.service.ts'
import type { Actor } from '../../../model/caller.ts'
import type { OutboxWebhook } from '../../../model/webhook.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/app-type.ts'
import { Type } from '../../validation/schema.ts'
import { actionForm } from '../site/elements/fields.ts'
import { ageOf, shortText, timeOf } from '../site/elements/format.ts'
import { emptyState, mainCell, tableCard } from '../site/elements/tables.ts'
import type { Notice } from '../site/notices.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import { deliveryStatus } from './mail.routes.ts'

export type ConsoleWebhooksParts = PageParts & { readonly webhooks: WebhookAdministration }

const PAGE_SIZE = 25
const Query = {
  status: Type.Optional(Type.Enum(['', 'failed'], { default: '' })),
  after: Type.Optional(Type.Integer({ minimum: 0, default: 0 })),
}
const Webhook = { webhook_id: Type.Integer() }

/** Webhooks that wait, and webhooks that could not be delivered. */
export function consoleWebhooksRoutes(app: App, parts: ConsoleWebhooksParts): void {
  const { site, webhooks } = parts
  const { root } = site
  const { get, post } = createPageRoutes(app, parts, 'console')

  get('/webhooks', { query: Query }, async ({ query: { status = '', after = 0 } }) => {
    const failedOnly = status === 'failed'
    const [{ items, next }, state] = await Promise.all([webhooks.page({ failedOnly, after, size: PAGE_SIZE }), webhooks.state()])
    const tab = (isShown: boolean, to: string, text: string) =>
      html`<li><a href="${root}/console/webhooks${to}"${isShown ? html` aria-current="page"` : ''}>${text}</a></li>`
    const more = `${root}/console/webhooks?${failedOnly ? 'status=failed&' : ''}after=${next}`
    const content = html`${state.stoppedAt === undefined ? '' : stopped(state.stoppedAt)}${tableCard({
      title: 'Deliveries',
      heads: ['Event', 'About', 'Status', 'Attempts', 'Last error'],
      rows: items.map(rowOf),
      hasActions: true,
      header: html`<nav aria-label="Status"><ul class="tabs">${tab(!failedOnly, '', 'All')}${tab(failedOnly, '?status=failed', 'Failed')}</ul></nav>`,
      empty: failedOnly
        ? emptyState('No failed webhooks', 'Every webhook was delivered or is still being retried.')
        : emptyState(
            'Nothing is waiting',
            'Webhooks that are waiting or could not be delivered appear here. WEBHOOK_URL names their receiver.',
          ),
      footer:
        next === undefined
          ? undefined
          : html`<footer class="pages"><span></span><a class="button small" rel="next" href="${more}">Next →</a></footer>`,
    })}`
    return { title: 'Webhooks', content }
  })

  function stopped(at: number): Html {
    return html`<div class="notice warn"><p>The receiver answered 410 (gone) ${ageOf(at, site.now())}. Nothing is sent until you resume.</p></div>
${actionForm(`${root}/console/webhooks/resume`, 'Resume')}\n`
  }

  function rowOf(webhook: OutboxWebhook): readonly (Html | string)[] {
    const { id, type, userId, occurredAt, attempts, lastError } = webhook
    return [
      mainCell(html`<code>${type}</code>`, timeOf(occurredAt)),
      html`<a href="${root}/console/users/${userId}">user ${userId}</a>`,
      deliveryStatus(webhook, site.now()),
      String(attempts),
      lastError === undefined ? '' : html`<span class="wrap">${shortText(lastError, 300)}</span>`,
      html`<div class="actions">${actionForm(`${root}/console/webhooks/${id}/retry`, 'Send again', 'small')}${actionForm(`${root}/console/webhooks/${id}/discard`, 'Discard', 'small danger')}</div>`,
    ]
  }

  action('retry', 'webhook-retried', (actor, id) => webhooks.retry(actor, id))
  action('discard', 'webhook-discarded', (actor, id) => webhooks.discard(actor, id))

  /** A webhook that was delivered meanwhile, or that is being sent, is left alone. */
  function action(name: string, notice: Notice, change: (actor: Actor, webhookId: number) => Promise<boolean>): void {
    post(`/webhooks/:webhook_id/${name}`, { params: Webhook }, async ({ params, actor }) => ({
      to: '/console/webhooks',
      notice: (await change(actor, params.webhook_id)) ? notice : 'webhook-gone',
    }))
  }

  post('/webhooks/resume', {}, async ({ actor }) => {
    await webhooks.resume(actor)
    return { to: '/console/webhooks', notice: 'webhooks-resumed' }
  })
}
