import type { KeptMail, KeptMails } from '../../../model/mail.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Email, Type } from '../../validation/schema.ts'
import { emptyState, mainCell, tableCard } from '../site/elements/cards.ts'
import { inputField } from '../site/elements/fields.ts'
import { shortText } from '../site/elements/format.ts'
import { laterPage, pagesFooter, partOf, queryText, stepLink, stepsFooter } from '../site/elements/paging.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Place } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'
import { CONSOLE_TEXTS } from '../texts/texts.ts'
import { attemptCells, DELIVERY_ACTIONS, DeliveryStatus, deliveriesCard, deliveryStatus, historyCard } from './deliveries.ts'
import { ageOf, timeOf } from './format.ts'

const PAGE_SIZE = 10
const HISTORY_SIZE = 8
/** Which part of the outbox and of the mailbox is shown, or is to be shown again. */
const Query = {
  status: DeliveryStatus,
  before: Type.Optional(Type.Integer({ minimum: 1 })),
  kept: Type.Optional(Type.Integer({ minimum: 1 })),
  /** The history below an id, or that of one address. */
  past: Type.Optional(Type.Integer({ minimum: 1 })),
  to: Type.Optional(Type.String({ trimmed: true, maxLength: 254, default: '' })),
}
type MailPlace = Place<typeof Query>
const MAX_OF_ADDRESS = 12
const TEST_FIELDS = { address: { schema: Email, label: 'Email address', type: 'email' } } as const
// A server that does not answer is given up after 30 seconds.
const TEST_WITHIN_MS = 35_000
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
export function consoleMailRoutes({ get, action }: PageRoutes, parts: PageParts): void {
  const { site, mailAdministration, keptMails, sendTestMail } = parts
  const { root } = site

  /** Everything that became of mails or, with an address, of those to it. */
  async function history({ to = '', past }: MailPlace): Promise<Html> {
    const now = site.now()
    const search = html`<form class="filters" role="search" action="${root}/console/mail">
<div class="field wide"><label for="to">Search the history</label><input id="to" name="to" type="search" value="${to}" autocomplete="off" spellcheck="false" placeholder="name@example.com"></div>
<button>Search</button>
</form>`
    const all = html`<p><a href="${root}/console/mail">Show all mail</a></p>`
    const size = to === '' ? HISTORY_SIZE : MAX_OF_ADDRESS
    const mails = await mailAdministration.history({ to: to || undefined, beforeId: past, size: size + 1 })
    const { shown, last } = partOf(mails, size)
    const footer = stepsFooter({
      back: past ? stepLink(`${root}${mailPath({ to })}#history`, 'Newest') : undefined,
      on: last && stepLink(`${root}${mailPath({ to, past: last.id })}#history`, 'Older →'),
    })
    if (to === '') return html`${search}${historyCard(shown, now, { footer })}`
    const empty = emptyState(
      'No mail to this address',
      'A request for an address without an account sends nothing, and leaves no entry.',
      all,
    )
    return html`${search}${historyCard(shown, now, { title: `Mail to ${shortText(to, 100)}`, empty, footer })}`
  }

  const mailPage = (content: Html): Page => ({ title: 'Mail', content, actions: sendTestMail && testForm(root) })

  get('/mail', {
    query: Query,
    async handle({ query }) {
      if (query.to) return mailPage(await history(query))
      const isFailedOnly = query.status === 'failed'
      const mails = await mailAdministration.page(isFailedOnly ? 'failed' : 'all', query.before, PAGE_SIZE + 1)
      // The last mail of a later page may have left the outbox.
      if (mails.length === 0 && query.before) return { to: mailPath({ ...query, before: undefined }) }
      const { shown, last } = partOf(mails, PAGE_SIZE)
      const now = site.now()
      const outbox = deliveriesCard({
        title: 'Outbox',
        heads: ['Mail', 'Status', 'Requested'],
        rows: shown.map((mail) => [
          mainCell(shortText(mail.recipient), mail.kind),
          deliveryStatus(mail, now),
          ageOf(mail.requestedAt, now),
          ...attemptCells(mail, {
            name: `the ${mail.kind.replaceAll('_', ' ')} mail to ${mail.recipient}`,
            base: `${root}/console/mail/${mail.id}`,
            place: placeText(query),
          }),
        ]),
        empty: isFailedOnly ? NO_FAILED : NOTHING,
        shown: query.status,
        to: (status) => root + mailPath({ ...query, status, before: undefined }),
        start: query.before ? 'Newest' : undefined,
        next: last && root + mailPath({ ...query, before: last.id }),
      })
      return mailPage(html`${outbox}\n${await mailboxCard(site, keptMails, query)}\n${await history(query)}`)
    },
  })

  for (const [name, done] of DELIVERY_ACTIONS)
    action(`/mail/:mail_id/${name}`, {
      asksForPassword: false,
      params: { mail_id: Type.Integer() },
      query: Query,
      change: ({ actor, params }) => mailAdministration[name](actor, params.mail_id),
      to: ({ query }) => mailPath(query),
      notice: (isDone) => (isDone ? `mail-${done}` : 'mail-gone'),
    })

  if (sendTestMail !== undefined)
    action('/mail/test', {
      asksForPassword: false,
      deadlineMs: TEST_WITHIN_MS,
      fields: TEST_FIELDS,
      retry: (form) => ({
        title: 'Send a test mail',
        content: html`${form.problem}<form class="form" method="post" action="${root}/console/mail/test">${form.field('address')}<div class="actions"><button class="primary">Send</button></div></form>`,
        back: { path: '/console/mail', text: 'Mail' },
      }),
      async change({ actor, body }) {
        const requestedAt = site.now()
        const result = await sendTestMail(body.address)
        await mailAdministration.recordTest(actor, body.address, requestedAt, result)
        return result
      },
      to: ({ body }) => mailPath({ to: body.address }),
      notice: (result) => ('answer' in result ? 'test-sent' : 'test-failed'),
    })

  if (keptMails === undefined) return
  get('/mail/kept/:mail_id', {
    asksForPassword: READING,
    params: KeptMailPath,
    query: Query,
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
async function mailboxCard({ root, now }: Site, keptMails: KeptMails | undefined, shown: MailPlace): Promise<Html | undefined> {
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
        : html`${pagesFooter(CONSOLE_TEXTS, { page, hasMore }, (kept) => `${root}${mailPath({ ...shown, kept })}#mailbox`)}<footer class="hint">SMTP_URL is not set, so these emails are kept as files and not sent.</footer>`,
  })
}

function mailPath(shown: MailPlace): string {
  return `/console/mail${placeText(shown)}`
}

function placeText({ status, before, kept, past, to }: MailPlace): string {
  return queryText({ status, before, kept: laterPage(kept), past, to })
}

function testForm(root: string): Html {
  return html`<details class="confirm"><summary class="button">Send a test mail…</summary>
<form class="form" method="post" action="${root}/console/mail/test">${inputField({ name: 'address', ...TEST_FIELDS.address })}<button class="primary">Send a test mail</button></form>
</details>`
}

/** Within the frame, the page of a link could not be shown. The first base decides, and belongs after the doctype. */
function withNewTabs(mail: string): string {
  const [doctype = ''] = DOCTYPE.exec(mail) ?? []
  return `${doctype}<base target="_blank">${mail.slice(doctype.length)}`
}

function keptMailPage({ root }: Site, { id, to, subject, text, links, at }: KeptMail, shown: MailPlace): Page {
  const content = html`<section class="card" aria-label="Mail"><dl class="facts">
<dt>To</dt><dd>${to}</dd>
<dt>Written</dt><dd>${timeOf(at)}</dd>
${links.map((link) => html`<dt>Link</dt><dd class="clip"><a href="${link}" target="_blank" rel="noreferrer">${link}</a></dd>`)}
</dl></section>
<iframe class="mail" title="The mail, as its reader sees it" sandbox="${SANDBOX}" src="${root}/console/mail/kept/${encodeURIComponent(id)}/frame"></iframe>
<details class="numbers"><summary>Text part</summary><pre>${text}</pre></details>`
  return { title: subject, content, back: { path: `${mailPath(shown)}#mailbox`, text: 'Mail' } }
}
