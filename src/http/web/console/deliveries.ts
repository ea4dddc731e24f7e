import type { OutboxMail } from '../../../model/mail.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { askedForm, badge, type Cell, type Table, tableCard, tabs } from '../site/elements/cards.ts'
import { actionForm } from '../site/elements/fields.ts'
import { shortText } from '../site/elements/format.ts'
import { stepLink, stepsFooter } from '../site/elements/paging.ts'
import { ageOf, waitOf } from './format.ts'

/** Which deliveries a list shows. */
export const DeliveryStatus = Type.Optional(Type.Enum(['', 'failed'], { default: '' }))
export type ShownStatus = '' | 'failed' | undefined

/** The buttons of each delivery, with what they have done. A delivery that was made meanwhile, or that is being made, is left alone. */
export const DELIVERY_ACTIONS = [
  ['retry', 'retried'],
  ['discard', 'discarded'],
] as const

type DeliveryList = Pick<Table, 'title' | 'heads' | 'rows' | 'empty'> & {
  readonly shown: ShownStatus
  /** The address of the beginning of a list. */
  readonly to: (status: ShownStatus) => string
  /** What the beginning is called, on a later page. */
  readonly start: 'Newest' | 'Oldest' | undefined
  readonly next: string | undefined
}

/** Mails or webhooks that wait, or that could not be delivered. */
export function deliveriesCard({ title, heads, rows, empty, shown, to, start, next }: DeliveryList): Html {
  const isFailedOnly = shown === 'failed'
  return tableCard({
    title,
    heads: [...heads, 'Attempts', 'Last error'],
    rows,
    actions: 'Actions',
    header: tabs('Status', [
      { to: to(''), text: 'All', isShown: !isFailedOnly },
      { to: to('failed'), text: 'Failed', isShown: isFailedOnly },
    ]),
    empty,
    footer: stepsFooter({
      back: start === undefined ? undefined : stepLink(to(shown), start),
      on: next === undefined ? undefined : stepLink(next, 'Next →'),
    }),
  })
}

type Delivery = Pick<OutboxMail, 'failedAt' | 'isClaimed' | 'dueAt' | 'attempts' | 'lastError'>

export function deliveryStatus({ failedAt, isClaimed, dueAt }: Delivery, now: number): Html {
  if (failedAt !== undefined) return html`${badge('bad', 'Failed')} <span class="sub">${ageOf(failedAt, now)}</span>`
  if (isClaimed && dueAt > now) return badge('', 'Being sent')
  return dueAt > now ? html`${badge('warn', 'Waiting')} <span class="sub">again ${waitOf(dueAt, now)}</span>` : badge('', 'Due')
}

/** The cells for Attempts and Last error, and the buttons of a delivery at `base`, which a question calls `name`. */
export function attemptCells(
  { attempts, lastError }: Delivery,
  { name, base, place }: { readonly name: string; readonly base: string; readonly place: string },
): readonly Cell[] {
  return [
    String(attempts),
    lastError === undefined ? '' : html`<span class="wrap">${shortText(lastError, 300)}</span>`,
    html`<div class="actions">${actionForm(`${base}/retry${place}`, 'Send again', 'small')}${askedForm({ action: `${base}/discard${place}`, verb: 'Discard', isSmall: true, question: html`Discard <strong>${shortText(name, 50)}</strong>? It is not sent. This cannot be undone.` })}</div>`,
  ]
}
