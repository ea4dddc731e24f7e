import type { Plan } from '../../../domain/values/plans.ts'
import type { ApiKey } from '../../../model/api-key.ts'
import type { JsonObject } from '../../../model/entity.ts'
import type { StoredEvent } from '../../../model/event.ts'
import type { Factors } from '../../../model/factor.ts'
import type { ShownMail } from '../../../model/mail.ts'
import type { ListedSession } from '../../../model/session.ts'
import type { DailyUse } from '../../../model/usage.ts'
import type { ListedUser, User, UserData } from '../../../model/user.ts'
import { type Html, html } from '../../../shared/html.ts'
import { counted } from '../../../shared/text.ts'
import { Type } from '../../validation/schema.ts'
import { askedForm, badge, deletionCard, emptyState, fact, keyCells, sessionCells, splitCard, tableCard } from '../site/elements/cards.ts'
import { useCard } from '../site/elements/charts.ts'
import { actionForm, type Form, formOf, inputField } from '../site/elements/fields.ts'
import { shortText } from '../site/elements/format.ts'
import { type ListPage, laterPage, pagesFooter, queryText, stepsFooter } from '../site/elements/paging.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'
import { CONSOLE_TEXTS } from '../texts/texts.ts'
import { eventsCard } from './audit.routes.ts'
import { historyCard } from './deliveries.ts'
import { ageOf, limitsText, NEVER, timeOf } from './format.ts'
import { badgesOf } from './users.routes.ts'

const NO_MAIL = emptyState('No mail in the last 30 days', 'Emails to this address appear here when they are requested.')

/** The forms that were refused, and are shown again. */
export type RefusedForms = { readonly plan?: Form; readonly data?: DataForm }

/** The pages of the two lists that are shown. */
export type Shown = { readonly sessions?: number | undefined; readonly keys?: number | undefined }

/** The page of a user, with the pages of both lists that are shown. */
export function userPath(userId: number, { sessions, keys }: Shown): string {
  return `/console/users/${userId}${queryText({ sessions: laterPage(sessions), keys: laterPage(keys) })}`
}

type UserDetails = {
  readonly user: ListedUser
  readonly factors: Factors
  readonly sessions: ListPage<ListedSession>
  readonly keys: ListPage<ApiKey>
  /** Undefined without PLANS. */
  readonly plan: { readonly plan: Plan; readonly names: readonly string[] } | undefined
  readonly use: readonly DailyUse[]
  readonly data: UserData
  readonly refused: RefusedForms
  /** The latest events about the account. */
  readonly events: readonly StoredEvent[]
  readonly emails: ReadonlyMap<number, string>
  /** The latest mails to the address of the account. */
  readonly mails: readonly ShownMail[]
}

/** The admin who looks at the page, and their session. */
type Viewer = { readonly user: User; readonly sessionId: string | undefined }

export function userPage(site: Site, viewer: Viewer, details: UserDetails): Page {
  const { user, factors, sessions, keys, plan, use, data, refused, events, emails, mails } = details
  const base = `${site.root}/console/users/${user.id}`
  const shown = { sessions: sessions.page, keys: keys.page }
  const list = {
    base,
    email: user.email,
    place: queryText({ sessions: laterPage(sessions.page), keys: laterPage(keys.page) }),
    now: site.now(),
  }
  const footers = {
    sessions: pagesFooter(CONSOLE_TEXTS, sessions, (page) => `${base}${queryText({ ...shown, sessions: page })}#sessions`),
    keys: pagesFooter(CONSOLE_TEXTS, keys, (page) => `${base}${queryText({ ...shown, keys: page })}#api-keys`),
  }
  const allEvents = html`<a href="${site.root}/console/audit?target=${user.id}">All events about this user</a>`
  const allMails = html`<a href="${site.root}/console/mail${queryText({ to: user.email })}">All mail to this address</a>`
  // A banned account gets no mail.
  const reset = user.banned ? undefined : actionForm(`${base}/send-reset`, 'Send password reset', 'small')
  const mail = { title: 'Mail', empty: NO_MAIL, header: reset }
  const content = html`${profile(user, factors, site.now())}
${sessionsCard(sessions.items, viewer.sessionId, { ...list, footer: footers.sessions })}
${keysCard(keys.items, { ...list, footer: footers.keys })}
${useCard(CONSOLE_TEXTS, use, `No service has checked the API keys of this user in the last ${use.length} days.`)}
${plan && planCard(`${base}/plan`, plan.plan, plan.names, refused.plan)}
${historyCard(mails, site.now(), { ...mail, footer: stepsFooter({ on: mails.length === 0 ? undefined : allMails }) })}
${dataCard(`${base}/data`, data, refused.data)}
${eventsCard(site.root, events, { emails, footer: stepsFooter({ on: allEvents }) })}
${factors.totp || factors.passkeys > 0 ? resetCard(base, user.email) : undefined}
${deletionCard({
  title: 'Delete this account',
  text: 'The account is deleted with its sessions and API keys. Its address can be registered again. This cannot be undone.',
  action: `${base}/delete`,
  verb: 'Delete',
  question: html`Delete <strong>${user.email}</strong> for good?`,
})}`
  return {
    title: user.email,
    content,
    badges: badgesOf(user),
    actions: actionsFor(base, user, viewer),
    back: { path: '/console/users', text: 'Users' },
  }
}

function actionsFor(base: string, user: User, viewer: Viewer): Html {
  const ban = user.banned
    ? actionForm(`${base}/unban`, 'Unban')
    : askedForm({
        action: `${base}/ban`,
        verb: 'Ban',
        question: html`Ban <strong>${user.email}</strong>? Their sessions and API keys stop working. You can undo this with Unban.`,
      })
  return html`<a class="button" href="${base}/edit">Edit</a>${user.verified ? '' : actionForm(`${base}/verify`, 'Verify')}
${roleForm(base, user)}
${user.id === viewer.user.id ? '' : ban}`
}

function roleForm(base: string, { role, email }: User): Html {
  return role === 'admin'
    ? askedForm({
        action: `${base}/revoke-admin`,
        verb: 'Remove admin',
        question: html`Remove the admin role of <strong>${email}</strong>? They can no longer open this console. You can undo this with Make admin.`,
      })
    : askedForm({
        action: `${base}/make-admin`,
        verb: 'Make admin',
        isCalm: true,
        question: html`Make <strong>${email}</strong> an admin? They can change and delete every account, also yours. You can undo this with Remove admin.`,
      })
}

function profile({ id, firstName, lastName, createdAt, lastLoginAt }: ListedUser, factors: Factors, now: number): Html {
  return html`<section class="card" aria-label="Profile"><dl class="strip">
${fact('Name', `${firstName} ${lastName}`)}
${fact('User ID', html`<span class="mono">${id}</span>`)}
${fact('Second factor', factorText(factors) ?? html`<span class="quiet">none</span>`)}
${fact('Created', timeOf(createdAt))}
${fact('Signed in', lastLoginAt === undefined ? NEVER : ageOf(lastLoginAt, now))}
</dl></section>`
}

/** `Codes, 2 passkeys`; undefined if there is neither. */
function factorText({ totp, passkeys }: Factors): string | undefined {
  const names = [totp ? 'Codes' : '', passkeys > 0 ? counted(passkeys, 'passkey') : '']
  return names.filter(Boolean).join(', ') || undefined
}

/** For a user who has lost their phone and their codes. */
function resetCard(base: string, email: string): Html {
  return splitCard({
    id: 'reset',
    title: 'Reset second factor',
    text: 'For a user who can no longer sign in. Make sure that it is really them: from then on, their password alone signs them in.',
    content: askedForm({
      action: `${base}/reset-second-factor`,
      verb: 'Reset second factor',
      question: html`Remove the codes, recovery codes and passkeys of <strong>${email}</strong> and end their sessions? This cannot be undone.`,
    }),
  })
}

type List = {
  /** The address of the page of the user. */
  readonly base: string
  readonly email: string
  /** What the buttons lead back to, as the query of an address. */
  readonly place: string
  readonly now: number
  readonly footer: Html | undefined
}

function endSessions(base: string, email: string, isOwn: boolean): Html {
  return askedForm({
    action: `${base}/sessions/end-all`,
    verb: 'End all sessions',
    isSmall: true,
    question: html`End all sessions of <strong>${email}</strong>? They have to sign in again everywhere. This cannot be undone.${isOwn ? ' The session that you use now stays.' : ''}`,
  })
}

function sessionsCard(sessions: readonly ListedSession[], own: string | undefined, { base, email, place, now, footer }: List): Html {
  const revoke = (id: string) =>
    askedForm({
      action: `${base}/sessions/${id}/revoke${place}`,
      verb: 'Revoke',
      isSmall: true,
      question: html`End this session of <strong>${email}</strong>? They have to sign in again there. This cannot be undone.`,
    })
  return tableCard({
    title: 'Sessions',
    heads: CONSOLE_TEXTS.sessions.heads,
    rows: sessions.map((session) => [
      ...sessionCells(CONSOLE_TEXTS, session, now, ''),
      html`<div class="actions">${session.id === own ? badge('', 'This session') : ''}${revoke(session.id)}</div>`,
    ]),
    actions: 'Actions',
    header:
      sessions.length === 0
        ? undefined
        : endSessions(
            base,
            email,
            sessions.some(({ id }) => id === own),
          ),
    empty: emptyState('No sessions', 'This user is not signed in anywhere.'),
    footer,
  })
}

function keysCard(keys: readonly ApiKey[], { base, email, place, now, footer }: List): Html {
  return tableCard({
    title: 'API keys',
    heads: CONSOLE_TEXTS.keys.heads,
    rows: keys.map((key) => {
      const [path, label] = key.isActive ? ['disable', 'Disable'] : ['enable', 'Enable']
      const remove = askedForm({
        action: `${base}/keys/${key.id}/delete${place}`,
        verb: 'Delete',
        isSmall: true,
        question: html`Delete the key <strong>${shortText(key.name, 60)}</strong> of ${shortText(email, 60)}? Programs that use it are refused. This cannot be undone.`,
      })
      return [
        ...keyCells(CONSOLE_TEXTS, key, now),
        html`<div class="actions">${actionForm(`${base}/keys/${key.id}/${path}${place}`, label, 'small')}${remove}</div>`,
      ]
    }),
    actions: 'Actions',
    empty: emptyState('No API keys', 'This user has not created any.'),
    footer,
  })
}

/** Without a label: a problem with the plan is shown above the list. */
export const PLAN_FIELDS = { plan: { schema: Type.String({ maxLength: 40 }) } }

/** What limits the keys of the account. `retried` is a form that was refused. */
function planCard(action: string, plan: Plan, names: readonly string[], retried?: Form): Html {
  return splitCard({
    id: 'plan',
    title: 'Plan',
    text: `All API keys of this account together may make ${limitsText(plan.limits)}.`,
    content: html`<form class="form" method="post" action="${action}">
${retried?.problem}${inputField({ name: 'plan', label: 'Plan', choices: names.map((one) => [one, one] as const), value: plan.name })}
<div class="actions"><button>Change plan</button></div>
</form>`,
  })
}

// Longer texts do not fit into a form. Only the object that they describe has a limit.
const JSON_TEXT = Type.Unsafe<JsonObject>(Type.String({ format: 'json', maxLength: 65_536 }))
const FIELD = { schema: Type.Optional(JSON_TEXT), rows: 4 } as const

/** One form for each object, so that the largest ones can be sent. */
export const DATA_FIELDS = {
  profile: { ...FIELD, label: 'Profile', hint: 'The user can change it too.' },
  app: { ...FIELD, label: 'App', hint: 'Only admins can change it.' },
}
type DataForm = Form<keyof typeof DATA_FIELDS>

/** What the product keeps about the account. `retried` is a form that was refused. */
function dataCard(action: string, data: UserData, retried?: DataForm): Html {
  const empty = formOf(CONSOLE_TEXTS, DATA_FIELDS)
  const form = (name: keyof UserData) => {
    const { problem, field } = retried?.values[name] === undefined ? empty : retried
    return html`<form class="form" method="post" action="${action}">
${problem}${field(name, { value: textOf(data[name]) })}
<div class="actions"><button>Save</button></div>
</form>`
  }
  return splitCard({
    id: 'data',
    title: 'Data of the product',
    text: 'JSON objects that your product reads with this account. Saving replaces the whole object.',
    content: html`<div class="form">${form('profile')}${form('app')}</div>`,
  })
}

// A form triples most characters, and sends a line break as six.
const MAX_INDENTED_BYTES = 8192

/** In lines, unless the form would then be too large to be sent. */
function textOf(object: JsonObject): string {
  const text = JSON.stringify(object, null, 2)
  return Buffer.byteLength(text) > MAX_INDENTED_BYTES ? JSON.stringify(object) : text
}
