import { KEPT_ANSWER, type MailFailure, type MailState, type OutboxMail, type ShownMail } from '../../../model/mail.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { askedForm, badge, type Cell, emptyState, mainCell, type Table, tableCard, tabs } from '../site/elements/cards.ts'
import { actionForm } from '../site/elements/fields.ts'
import { shortText } from '../site/elements/format.ts'
import { stepLink, stepsFooter } from '../site/elements/paging.ts'
import { ageOf, timeOf, waitOf } from './format.ts'

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

const STATES: Readonly<Record<MailState, Html>> = {
  delivered: badge('good', 'Delivered'),
  waiting: badge('warn', 'Waiting'),
  given_up: badge('bad', 'Failed'),
  discarded: badge('', 'Discarded'),
  dropped: badge('', 'Not needed'),
}
// Without SMTP_URL, no mail reaches anybody.
const KEPT = badge('warn', 'Kept, not sent')
/** Mails without an attempt. */
const UNTRIED: Partial<Record<MailState, string>> = { waiting: 'not tried yet', dropped: 'the account did not need it' }
const MAX_ERRORS_SHOWN = 2
const MAX_TEXT = 100

const NO_HISTORY = emptyState(
  'No mail in the last 30 days',
  'Emails appear here with their first attempt, and in the outbox until then. A request for an address without an account sends nothing, and leaves no entry.',
)

/** What became of mails: their attempts with the errors, and the answer of the server. */
export function historyCard(
  mails: readonly ShownMail[],
  now: number,
  { title = 'History', empty = NO_HISTORY, header, footer }: Partial<Pick<Table, 'title' | 'empty' | 'header' | 'footer'>> = {},
): Html {
  return tableCard({
    title,
    heads: ['Mail', 'Status', 'Requested', 'Attempts', 'What happened'],
    rows: mails.map((mail) => [
      mainCell(shortText(mail.recipient, 100), mail.kind),
      mail.answer === KEPT_ANSWER ? KEPT : STATES[mail.state],
      ageOf(mail.requestedAt, now),
      String(mail.attempts),
      stepsOf(mail),
    ]),
    empty,
    header,
    footer,
  })
}

function stepsOf({ errors, state, at, answer }: ShownMail): Cell {
  const shown = errors.slice(-MAX_ERRORS_SHOWN)
  const left = errors.length - shown.length
  const end = answer === undefined ? undefined : html`<li>${timeOf(at)}: ${shortText(answer, MAX_TEXT)}</li>`
  if (shown.length === 0 && end === undefined) return html`<span class="quiet">${UNTRIED[state] ?? ''}</span>`
  return html`<ul class="steps">${left > 0 ? html`<li class="quiet">${left} other errors before</li>` : undefined}${shown.map(failureOf)}${end}</ul>`
}

function failureOf({ error, firstAt, lastAt, count }: MailFailure): Html {
  const times = count === 1 ? timeOf(firstAt) : html`${count} times until ${timeOf(lastAt)}`
  return html`<li>${times}: ${shortText(error, MAX_TEXT)}</li>`
}
