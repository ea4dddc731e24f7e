import type { KeptMail, KeptMails } from '../../../model/mail.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { emptyState, mainCell, tableCard } from '../site/elements/cards.ts'
import { ageOf, shortText, timeOf } from '../site/elements/format.ts'
import { laterPage, pagesFooter, queryText } from '../site/elements/paging.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'
import { attemptCells, DELIVERY_ACTIONS, DeliveryStatus, deliveriesCard, deliveryStatus, type ShownStatus } from './deliveries.ts'

const PAGE_SIZE = 15
/** Which part of the outbox and of the mailbox is shown, or is to be shown again. */
const MailPlace = {
  status: DeliveryStatus,
  before: Type.Optional(Type.Integer({ minimum: 1 })),
  kept: Type.Optional(Type.Integer({ minimum: 1 })),
}
type Place = { readonly status?: ShownStatus; readonly before?: number | undefined; readonly kept?: number | undefined }
const KeptMailPath = { mail_id: Type.String({ maxLength: 300 }) }
const NO_FAILED = emptyState('No failed mail', 'Every email was delivered or is still being retried.')
const NOTHING = emptyState('The outbox is empty', 'Emails that are waiting or could not be delivered appear here.')
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

/** The outbox: mails that wait, and mails that could not be delivered. For development, also every kept mail, as its reader would see it. */
export function consoleMailRoutes({ get, post }: PageRoutes, { site, mailAdministration, keptMails }: PageParts): void {
  const { root } = site

  get('/mail', {
    query: MailPlace,
    async handle({ query }) {
      const isFailedOnly = query.status === 'failed'
      const mails = await mailAdministration.page(isFailedOnly ? 'failed' : 'all', query.before, PAGE_SIZE + 1)
      // The last mail of a later page may have left the outbox.
      if (mails.length === 0 && query.before !== undefined) return { to: mailPath({ ...query, before: undefined }) }
      const shown = mails.slice(0, PAGE_SIZE)
      const next = mails.length > PAGE_SIZE ? shown.at(-1)?.id : undefined
      const now = site.now()
      const outbox = deliveriesCard({
        title: 'Outbox',
        heads: ['Mail', 'Status', 'Requested'],
        rows: shown.map((mail) => [
          mainCell(shortText(mail.recipient), mail.kind),
          deliveryStatus(mail, now),
          ageOf(mail.requestedAt, now),
          ...attemptCells(mail, `${root}/console/mail/${mail.id}`, placeText(query)),
        ]),
        empty: isFailedOnly ? NO_FAILED : NOTHING,
        shown: query.status,
        to: (status) => root + mailPath({ ...query, status, before: undefined }),
        start: query.before === undefined ? undefined : 'Newest',
        next: next === undefined ? undefined : root + mailPath({ ...query, before: next }),
      })
      const mailbox = keptMails && (await mailboxCard(site, keptMails, query))
      return { title: 'Mail', content: html`${outbox}\n${mailbox}` }
    },
  })

  for (const [name, done] of DELIVERY_ACTIONS)
    post(`/mail/:mail_id/${name}`, {
      asksForPassword: false,
      params: { mail_id: Type.Integer() },
      query: MailPlace,
      handle: async ({ params, query, actor }) => ({
        to: mailPath(query),
        notice: (await mailAdministration[name](actor, params.mail_id)) ? `mail-${done}` : 'mail-gone',
      }),
    })

  if (keptMails === undefined) return
  get('/mail/kept/:mail_id', {
    asksForPassword: READING,
    params: KeptMailPath,
    query: MailPlace,
    async handle({ params, query }) {
      const mail = await keptMails.find(params.mail_id)
      return mail === undefined ? { to: mailPath(query), notice: 'mail-gone' } : keptMailPage(site, mail, query)
    },
  })

  get('/mail/kept/:mail_id/frame', {
    asksForPassword: READING,
    params: KeptMailPath,
    async handle({ params }, reply) {
      const mail = await keptMails.find(params.mail_id)
      if (mail === undefined) return { to: '/console/mail', notice: 'mail-gone' }
      reply.headers(FRAME_HEADERS).type('text/html; charset=utf-8').send(withNewTabs(mail.html))
      return { isSent: true }
    },
  })
}

/** The kept mails, newest first, as a part of the page of the outbox. */
async function mailboxCard({ root, now }: Site, keptMails: KeptMails, shown: Place): Promise<Html> {
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

function placeText({ status, before, kept }: Place): string {
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
