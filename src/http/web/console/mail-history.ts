import { KEPT_ANSWER, type MailFailure, type MailState, type ShownMail } from '../../../model/mail.ts'
import { type Html, html } from '../../../shared/html.ts'
import { badge, type Cell, emptyState, mainCell, type Table, tableCard } from '../site/elements/cards.ts'
import { shortText } from '../site/elements/format.ts'
import { ageOf, timeOf } from './format.ts'

const STATES: Readonly<Record<MailState, Html>> = {
  delivered: badge('good', 'Delivered'),
  waiting: badge('warn', 'Waiting'),
  given_up: badge('bad', 'Given up'),
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
