import type { MailAdministration } from '../../../domain/mail/mail-administration.service.ts'
import type { Actor } from '../../../model/caller.ts'
import type { OutboxMail } from '../../../model/mail.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/app-type.ts'
import { Type } from '../../validation/schema.ts'
import { actionForm } from '../site/elements/fields.ts'
import { ageOf, shortText, waitOf } from '../site/elements/format.ts'
import { nextLink, startLink, stepsFooter } from '../site/elements/paging.ts'
import { badge, emptyState, mainCell, tableCard, tabs } from '../site/elements/tables.ts'
import type { Notice } from '../site/notices.ts'
import { createPageRoutes } from '../site/page-routes.ts'
import { type ConsoleMailboxParts, MailPlace, mailboxCard, mailPath, type Place, placeText } from './mailbox.routes.ts'

export type ConsoleMailParts = ConsoleMailboxParts & { readonly mailAdministration: MailAdministration }

const PAGE_SIZE = 15
const Mail = { mail_id: Type.Integer() }

/** The outbox: mails that wait, and mails that could not be delivered. */
export function consoleMailRoutes(app: App, parts: ConsoleMailParts): void {
  const { site, mailAdministration, keptMails } = parts
  const { root } = site
  const { get, post } = createPageRoutes(app, parts, 'console')

  get('/mail', { query: MailPlace }, async ({ query }) => {
    const isFailedOnly = query.status === 'failed'
    const mails = await mailAdministration.page(isFailedOnly ? 'failed' : 'all', query.before, PAGE_SIZE + 1)
    // The last mail of a later page may have left the outbox.
    if (mails.length === 0 && query.before !== undefined) return { to: mailPath({ ...query, before: undefined }) }
    const shown = mails.slice(0, PAGE_SIZE)
    const next = mails.length > PAGE_SIZE ? shown.at(-1)?.id : undefined
    const list = (place: Place) => root + mailPath({ ...query, ...place })
    const outbox = tableCard({
      title: 'Outbox',
      heads: ['Mail', 'Status', 'Requested', 'Attempts', 'Last error'],
      rows: shown.map((mail) => rowOf(mail, query)),
      hasActions: true,
      header: tabs('Status', [
        { to: list({ status: '', before: undefined }), text: 'All', isShown: !isFailedOnly },
        { to: list({ status: 'failed', before: undefined }), text: 'Failed', isShown: isFailedOnly },
      ]),
      empty: isFailedOnly
        ? emptyState('No failed mail', 'Every email was delivered or is still being retried.')
        : emptyState('The outbox is empty', 'Emails that are waiting or could not be delivered appear here.'),
      footer: stepsFooter({
        back: query.before === undefined ? undefined : startLink(list({ before: undefined }), 'Newest'),
        on: next === undefined ? undefined : nextLink(list({ before: next })),
      }),
    })
    const mailbox = await mailboxCard(site, keptMails, query)
    return { title: 'Mail', content: html`${outbox}\n${mailbox}` }
  })

  function rowOf(mail: OutboxMail, shown: Place): readonly (Html | string)[] {
    const { id, kind, recipient, requestedAt, attempts, lastError } = mail
    const now = site.now()
    const place = placeText(shown)
    return [
      mainCell(shortText(recipient), kind),
      deliveryStatus(mail, now),
      ageOf(requestedAt, now),
      String(attempts),
      lastError === undefined ? '' : html`<span class="wrap">${shortText(lastError, 300)}</span>`,
      html`<div class="actions">${actionForm(`${root}/console/mail/${id}/retry${place}`, 'Send again', 'small')}${actionForm(`${root}/console/mail/${id}/discard${place}`, 'Discard', 'small danger')}</div>`,
    ]
  }

  action('retry', 'mail-retried', (actor, mailId) => mailAdministration.retry(actor, mailId))
  action('discard', 'mail-discarded', (actor, mailId) => mailAdministration.discard(actor, mailId))

  /** A mail that was delivered meanwhile, or that is being sent, is left alone. */
  function action(name: string, notice: Notice, change: (actor: Actor, mailId: number) => Promise<boolean>): void {
    post(`/mail/:mail_id/${name}`, { asksForPassword: false, params: Mail, query: MailPlace }, async ({ params, query, actor }) => ({
      to: mailPath(query),
      notice: (await change(actor, params.mail_id)) ? notice : 'mail-gone',
    }))
  }
}

/** The state of a delivery: of a mail or a webhook. */
export function deliveryStatus({ failedAt, isClaimed, dueAt }: Pick<OutboxMail, 'failedAt' | 'isClaimed' | 'dueAt'>, now: number): Html {
  if (failedAt !== undefined) return html`${badge('bad', 'Failed')} <span class="sub">${ageOf(failedAt, now)}</span>`
  if (isClaimed && dueAt > now) return badge('', 'Being sent')
  return dueAt > now ? html`${badge('warn', 'Waiting')} <span class="sub">again ${waitOf(dueAt, now)}</span>` : badge('', 'Due')
}
