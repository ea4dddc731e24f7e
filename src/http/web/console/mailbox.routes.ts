import type { KeptMail, KeptMails } from '../../../model/mail.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/app-type.ts'
import { Type } from '../../validation/schema.ts'
import { ageOf, shortText, timeOf } from '../site/elements/format.ts'
import { laterPage, pagesFooter, queryText } from '../site/elements/paging.ts'
import { emptyState, mainCell, tableCard } from '../site/elements/tables.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'

export type ConsoleMailboxParts = PageParts & {
  /** The mails that are kept as files; undefined where a mail server sends them. */
  readonly keptMails: KeptMails | undefined
}

const PAGE_SIZE = 15
/** Which part of the outbox and of the mailbox is shown, or is to be shown again. */
export const MailPlace = {
  status: Type.Optional(Type.Enum(['', 'failed'], { default: '' })),
  before: Type.Optional(Type.Integer({ minimum: 1 })),
  kept: Type.Optional(Type.Integer({ minimum: 1 })),
}
export type Place = {
  readonly status?: '' | 'failed' | undefined
  readonly before?: number | undefined
  readonly kept?: number | undefined
}
const Mail = { mail_id: Type.String({ maxLength: 300 }) }
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

  get('/mail/kept/:mail_id', { asksForPassword: READING, params: Mail, query: MailPlace }, async ({ params, query }) => {
    const mail = await keptMails.find(params.mail_id)
    return mail === undefined ? { to: mailPath(query), notice: 'mail-gone' } : keptMailPage(site, mail, query)
  })

  get('/mail/kept/:mail_id/frame', { asksForPassword: READING, params: Mail }, async ({ params, reply }) => {
    const mail = await keptMails.find(params.mail_id)
    if (mail === undefined) return { to: '/console/mail', notice: 'mail-gone' }
    reply.headers(FRAME_HEADERS).type('text/html; charset=utf-8').send(withNewTabs(mail.html))
    return { isSent: true }
  })
}

/** The kept mails, newest first, as a part of the page of the outbox. */
export async function mailboxCard({ root, now }: Site, keptMails: KeptMails | undefined, shown: Place): Promise<Html | undefined> {
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

export function mailPath(shown: Place): string {
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
