import type { MailAdministration } from '../../../domain/mail/mail-administration.service.ts'
import type { Actor } from '../../../model/caller.ts'
import type { KeptMail, KeptMails, OutboxMail } from '../../../model/mail.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Type } from '../../validation/schema.ts'
import { actionForm } from '../site/elements/fields.ts'
import { ageOf, shortText, timeOf, waitOf } from '../site/elements/format.ts'
import { laterPage, nextLink, pagesFooter, queryText, startLink, stepsFooter } from '../site/elements/paging.ts'
import { badge, emptyState, mainCell, tableCard, tabs } from '../site/elements/tables.ts'
import type { Notice } from '../site/messages.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'

type ConsoleMailboxParts = PageParts & {
  /** The mails that are kept as files; undefined where a mail server sends them. */
  readonly keptMails: KeptMails | undefined
}

const PAGE_SIZE = 15
/** Which part of the outbox and of the mailbox is shown, or is to be shown again. */
const MailPlace = {
  status: Type.Optional(Type.Enum(['', 'failed'], { default: '' })),
  before: Type.Optional(Type.Integer({ minimum: 1 })),
  kept: Type.Optional(Type.Integer({ minimum: 1 })),
}
export type Place = {
  readonly status?: '' | 'failed' | undefined
  readonly before?: number | undefined
  readonly kept?: number | undefined
}
const MailPath = { mail_id: Type.Integer() }
const KeptMailPath = { mail_id: Type.String({ maxLength: 300 }) }
/** A mail may contain a link that resets a password, also that of the admin who reads it. */
const READING = { to: 'read this mail', cancel: '/console/mail' }

/** What a frame with a mail may do: its links open a new tab, which is an ordinary page. */
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'
const DOCTYPE = /^\s*<!doctype[^>]*>/i

/**
 * A mail is shown in a frame that belongs to no origin, runs no script, sends no form and loads nothing. Its own styles, and links that a
 * reader clicks, are the only things that this policy allows.
 */
const FRAME_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': `sandbox ${SANDBOX}; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'`,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/** The mailbox for development: every kept mail, as its reader would see it. */
export function consoleMailboxRoutes(app: App, parts: ConsoleMailboxParts): void {
  const { site, keptMails } = parts
  const { get } = createPageRoutes(app, parts, 'console')
  if (keptMails === undefined) return

  get('/mail/kept/:mail_id', { asksForPassword: READING, params: KeptMailPath, query: MailPlace }, async ({ params, query }) => {
    const mail = await keptMails.find(params.mail_id)
    return mail === undefined ? { to: mailPath(query), notice: 'mail-gone' } : keptMailPage(site, mail, query)
  })

  get('/mail/kept/:mail_id/frame', { asksForPassword: READING, params: KeptMailPath }, async ({ params, reply }) => {
    const mail = await keptMails.find(params.mail_id)
    if (mail === undefined) return { to: '/console/mail', notice: 'mail-gone' }
    reply.headers(FRAME_HEADERS).type('text/html; charset=utf-8').send(withNewTabs(mail.html))
    return { isSent: true }
  })
}

/** The kept mails, newest first, as a part of the page of the outbox. */
async function mailboxCard({ root, now }: Site, keptMails: KeptMails | undefined, shown: Place): Promise<Html | undefined> {
  if (keptMails === undefined) return undefined
  const { mails, page, hasMore } = await keptMails.page(shown.kept ?? 1, PAGE_SIZE)
  return tableCard({
    title: 'Mailbox',
    heads: ['Mail', 'Written'],
    rows: mails.map(({ id, to, subject, at }) => [
      mainCell(
        shortText(subject),
        shortText(to),
        `${root}/console/mail/kept/${encodeURIComponent(id)}${placeText({ ...shown, kept: page })}`,
      ),
      ageOf(at, now()),
    ]),
    empty: emptyState('No mail yet', 'SMTP_URL is not set, so emails are kept as files and appear here.'),
    footer:
      mails.length === 0
        ? undefined
        : html`${pagesFooter({ page, hasMore }, (kept) => `${root}${mailPath({ ...shown, kept })}#mailbox`)}<footer class="hint">SMTP_URL is not set, so these emails are kept as files and not sent.</footer>`,
  })
}

function mailPath(shown: Place): string {
  return `/console/mail${placeText(shown)}`
}

export function placeText({ status, before, kept }: Place): string {
  return queryText({ status, before, kept: laterPage(kept) })
}

/** Within the frame, the page of a link could not be shown. The first base decides, and belongs after the doctype. */
function withNewTabs(mail: string): string {
  const [doctype = ''] = DOCTYPE.exec(mail) ?? []
  return `${doctype}<base target="_blank">${mail.slice(doctype.length)}`
}

function keptMailPage({ root }: Site, { id, to, subject, text, links, at }: KeptMail, shown: Place): Page {
  const content = html`<section class="card" aria-label="Mail"><dl class="facts">
<dt>To</dt><dd>${to}</dd>
<dt>Written</dt><dd>${timeOf(at)}</dd>
${links.map((link) => html`<dt>Link</dt><dd class="clip"><a href="${link}" rel="noreferrer">${link}</a></dd>`)}
</dl></section>
<iframe class="mail" title="The mail, as its reader sees it" sandbox="${SANDBOX}" src="${root}/console/mail/kept/${encodeURIComponent(id)}/frame"></iframe>
<details class="numbers"><summary>Text part</summary><pre>${text}</pre></details>`
  return { title: subject, content, back: { path: `${mailPath(shown)}#mailbox`, text: 'Mail' } }
}

export type ConsoleMailParts = ConsoleMailboxParts & { readonly mailAdministration: MailAdministration }

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
    const { id, kind, recipient, requestedAt } = mail
    const now = site.now()
    const place = placeText(shown)
    return [
      mainCell(shortText(recipient), kind),
      deliveryStatus(mail, now),
      ageOf(requestedAt, now),
      ...attemptCells(mail, `${root}/console/mail/${id}`, place),
    ]
  }

  action('retry', 'mail-retried', (actor, mailId) => mailAdministration.retry(actor, mailId))
  action('discard', 'mail-discarded', (actor, mailId) => mailAdministration.discard(actor, mailId))

  /** A mail that was delivered meanwhile, or that is being sent, is left alone. */
  function action(name: string, notice: Notice, change: (actor: Actor, mailId: number) => Promise<boolean>): void {
    post(`/mail/:mail_id/${name}`, { asksForPassword: false, params: MailPath, query: MailPlace }, async ({ params, query, actor }) => ({
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

/** The cells for Attempts and Last error, and the buttons of a delivery at `base`. */
export function attemptCells({ attempts, lastError }: Pick<OutboxMail, 'attempts' | 'lastError'>, base: string, place: string) {
  return [
    String(attempts),
    lastError === undefined ? '' : html`<span class="wrap">${shortText(lastError, 300)}</span>`,
    html`<div class="actions">${actionForm(`${base}/retry${place}`, 'Send again', 'small')}${actionForm(`${base}/discard${place}`, 'Discard', 'small danger')}</div>`,
  ]
}
