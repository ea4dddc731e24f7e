import { MAX_LISTED_SESSIONS, type Sessions } from '../../../domain/sessions/sessions.service.ts'
import type { ListedSession } from '../../../model/session.ts'
import { html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Type } from '../../validation/schema.ts'
import { actionForm } from '../site/elements/fields.ts'
import { ageOf, clientOf } from '../site/elements/format.ts'
import { type ListPage, laterPage, pageNumber, pageOf, pagesFooter, pagingOf, queryText } from '../site/elements/paging.ts'
import { badge, emptyState, mainCell, tableCard } from '../site/elements/tables.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'

export type SessionsParts = PageParts & { readonly sessions: Sessions }

const PAGING = pagingOf({ size: 25, maxItems: MAX_LISTED_SESSIONS })
const Query = { page: pageNumber(PAGING) }

/** Where the caller is signed in, and ending it. */
export function accountSessionsRoutes(app: App, parts: SessionsParts): void {
  const { site, sessions } = parts
  const { get, post } = createPageRoutes(app, parts, 'account')

  get('/sessions', { query: Query }, async ({ query, actor }) => {
    const { user, sessionId } = actor.caller
    const live = await sessions.list(user.id)
    const hasOthers = live.some(({ id }) => id !== sessionId)
    return sessionsPage(pageOf(live, query.page, PAGING), sessionId, hasOthers)
  })

  post('/sessions/revoke-others', { asksForPassword: false }, async ({ actor }) => {
    await sessions.revokeAll(actor, actor.caller.user.id)
    return { to: '/account/sessions', notice: 'sessions-revoked' }
  })

  post(
    '/sessions/:session_id/revoke',
    { asksForPassword: false, params: { session_id: Type.String() }, query: Query },
    async ({ params, query, actor }) => {
      await sessions.revoke(actor, actor.caller.user.id, params.session_id)
      return { to: `/account/sessions${queryText({ page: laterPage(query.page) })}`, notice: 'session-revoked' }
    },
  )

  function sessionsPage(page: ListPage<ListedSession>, own: string | undefined, hasOthers: boolean): Page {
    const base = `${site.root}/account/sessions`
    const now = site.now()
    // Revoking leads back to the page that has the button.
    const place = queryText({ page: laterPage(page.page) })
    const table = tableCard({
      title: 'Your sessions',
      hidesTitle: true,
      heads: ['Client', 'Signed in', 'Last seen'],
      rows: page.items.map(({ id, ip, userAgent, createdAt, lastSeenAt }) => [
        mainCell(clientOf(userAgent), ip ?? 'Unknown address'),
        ageOf(createdAt, now),
        ageOf(lastSeenAt, now),
        html`<div class="actions">${id === own ? badge('good', 'This session') : actionForm(`${base}/${id}/revoke${place}`, 'Revoke', 'small')}</div>`,
      ]),
      hasActions: true,
      empty: emptyState('No sessions', 'You are not signed in anywhere.'),
      footer: html`${pagesFooter(page, (number) => `${base}?page=${number}`)}<footer class="hint">If you do not recognise a session, revoke it and change your password.</footer>`,
    })
    return { title: 'Sessions', content: table, actions: hasOthers ? actionForm(`${base}/revoke-others`, 'Revoke all others') : undefined }
  }
}
