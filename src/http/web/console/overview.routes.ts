import type { CountedUsers } from '../../../domain/users/user-directory.service.ts'
import type { MailCounts } from '../../../model/mail.ts'
import type { BusyKey } from '../../../model/usage.ts'
import type { UserStatus } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { within } from '../../../shared/within.ts'
import { badge, emptyState, mainCell, tableCard } from '../site/elements/cards.ts'
import { dailyChart } from '../site/elements/charts.ts'
import { shortText } from '../site/elements/format.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Site } from '../site/site.ts'
import { CONSOLE_TEXTS } from '../texts/texts.ts'
import { ageOf, dateText, numberOf } from './format.ts'
import { STATUSES } from './users.routes.ts'

const TILES: readonly (readonly [UserStatus | 'all', string])[] = [['all', 'Users'], ...STATUSES]
const OLD_MS = 60_000
const BUSIEST_DAYS = 7
const BUSIEST_SHOWN = 5
const BUSIEST_DEADLINE_MS = 1000

/** The first page of the console: how many, what grows, what needs attention. */
export function consoleOverviewRoutes({ get }: PageRoutes, { site, userDirectory, mailAdministration, usage, examine }: PageParts): void {
  get('/', {
    async handle() {
      const [counted, mails, busiest, checks] = await Promise.all([
        userDirectory.counts(),
        mailAdministration.counts(),
        // A million keys take a while to count: the rest of the page does not depend on them.
        within(BUSIEST_DEADLINE_MS, usage.busiest(BUSIEST_DAYS, BUSIEST_SHOWN), undefined).catch(() => undefined),
        examine(),
      ])
      const content = html`${userCounts(site, counted)}
<div class="columns">
${growth(counted)}
${mailCard(site, mails, checks)}
</div>
${busiestCard(site, busiest)}
${checksCard(checks, site.now())}`
      return { title: 'Overview', content }
    },
  })
}

/** Says when the users were counted, unless that was a moment ago. */
export function userCounts({ root, now }: Pick<Site, 'root' | 'now'>, counted: CountedUsers | undefined): Html {
  const tile = ([status, text]: (typeof TILES)[number]) =>
    html`<a class="card tile" href="${root}/console/users${status === 'all' ? '' : `?status=${status}`}"><span class="quiet">${text}</span><strong>${counted === undefined ? '…' : numberOf(counted.counts[status])}</strong></a>`
  const age = counted && now() - counted.at >= OLD_MS ? html`\n<p class="hint">Counted ${ageOf(counted.at, now())}.</p>` : undefined
  return html`<div class="tiles">${TILES.map(tile)}</div>${age}`
}

export function growth(counted: CountedUsers | undefined): Html {
  if (counted === undefined)
    return html`<section class="card wide" aria-labelledby="growth"><h2 id="growth">New users</h2>
${emptyState('The users are being counted', 'Reload this page in a moment.')}</section>`
  const { perDay } = counted.counts
  const sum = (days: number) => perDay.slice(-days).reduce((total, { count }) => total + count, 0)
  const days = perDay.map(({ startsAt: at, count }) => ({
    at,
    parts: [count],
    title: `${dateText(at)}: ${numberOf(count)} new users`,
  }))
  const summary = `${numberOf(sum(7))} in 7 days, ${numberOf(sum(perDay.length))} in ${perDay.length} days`
  return html`<section class="card wide" aria-labelledby="growth"><header><h2 id="growth">New users</h2><span class="quiet">${summary}</span></header>
${dailyChart(CONSOLE_TEXTS, { id: 'growth', label: 'New users on each day', summary, heads: ['Day', 'Number'], days })}
</section>`
}

const LATE_MS = 60_000

/** Undefined while they run for the first time. */
type Checks = Awaited<ReturnType<PageParts['examine']>>

/** Mail is good only while the server accepts it, and nothing fails, waits for a retry, or waits longer than a delivery takes. */
function mailNotice(root: string, counts: MailCounts, checks: Checks, now: number): Html {
  const { failed, retrying, pending, oldestAt, lastError } = counts
  const link = (query: string) => html` <a href="${root}/console/mail${query}">See why</a>`
  if (failed > 0)
    return html`<p class="notice bad">${numberOf(failed)} ${failed === 1 ? 'email' : 'emails'} could not be delivered.${link('?status=failed')}</p>`
  if (retrying > 0)
    return html`<p class="notice bad">${numberOf(retrying)} ${retrying === 1 ? 'email was not accepted and is' : 'emails were not accepted and are'} retried: ${shortText(lastError ?? 'no reason is known')}.${link('')}</p>`
  if (pending > 0 && oldestAt !== null && now - oldestAt > LATE_MS)
    return html`<p class="notice warn">${numberOf(pending)} ${pending === 1 ? 'email waits' : 'emails wait'}, the oldest since ${ageOf(oldestAt, now)}.${link('')}</p>`
  return serverNotice(checks)
}

/** What the checks say about the mail server, while no mail is in trouble. */
function serverNotice(checks: Checks): Html {
  const found = (sought: 'error' | 'warning') => checks?.findings.find(({ check, verdict }) => check === 'smtp' && verdict === sought)
  const finding = found('error') ?? found('warning')
  const problem = finding && `${finding.message.charAt(0).toUpperCase()}${finding.message.slice(1)}.`
  if (finding?.verdict === 'error') return html`<p class="notice bad">${problem}</p>`
  const kind = finding ? ' warn' : checks === undefined ? '' : ' good'
  return html`<p class="notice${kind}">No email has failed.${finding && ` ${problem}`}</p>`
}

function mailCard({ root, now }: Site, counts: MailCounts, checks: Checks): Html {
  const { pending, failed } = counts
  return html`<section class="card" aria-labelledby="mail"><h2 id="mail">Mail</h2>
${mailNotice(root, counts, checks, now())}
<dl class="facts"><dt>Waiting</dt><dd>${numberOf(pending)}</dd><dt>Failed</dt><dd>${numberOf(failed)}</dd></dl>
<p><a href="${root}/console/mail">Open the outbox</a></p></section>`
}

/** The keys that services have checked most often. Nothing where no key was checked. */
function busiestCard({ root }: Site, keys: readonly BusyKey[] | undefined): Html | undefined {
  if (keys === undefined || keys.length === 0) return undefined
  return tableCard({
    title: 'API keys used most',
    heads: ['Key', 'Allowed', 'Limited'],
    rows: keys.map(({ name, ownerId, ownerEmail, allowed, limited }) => [
      mainCell(name, ownerEmail, `${root}/console/users/${ownerId}`),
      numberOf(allowed),
      numberOf(limited),
    ]),
    header: html`<span class="quiet">in ${BUSIEST_DAYS} days</span>`,
    empty: html``,
  })
}

const VERDICTS = { ok: badge('good', 'OK'), warning: badge('warn', 'Warning'), error: badge('bad', 'Error') }

function checksCard(checks: Checks, now: number): Html {
  const problems = checks?.findings.filter(({ verdict }) => verdict !== 'ok') ?? []
  const passed = (checks?.findings.length ?? 0) - problems.length
  return tableCard({
    title: 'Checks',
    heads: ['Finding', 'Verdict'],
    rows: problems.map(({ check, verdict, message, advice }) => [mainCell(`${check}: ${message}`, advice ?? ''), VERDICTS[verdict]]),
    header: checks && html`<span class="quiet">${passed} passed, ${ageOf(checks.at, now)}</span>`,
    empty:
      checks === undefined
        ? emptyState('The checks are running', 'Reload this page in a moment.')
        : emptyState('Everything is fine', 'The checks of latchkey doctor found no problems.'),
  })
}
