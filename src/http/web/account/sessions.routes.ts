import type { UserSessions } from '../../../domain/sessions/user-sessions.service.ts'
import type { ListedSession } from '../../../model/session.ts'
import { html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/app-type.ts'
import { Type } from '../../validation/schema.ts'
import { actionForm } from '../site/fields.ts'
import { ageOf, clientOf } from '../site/format.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import { badge, emptyState, mainCell, tableCard } from '../site/tables.ts'

export type SessionsParts = PageParts & { readonly userSessions: UserSessions }

/** Where the caller is signed in, and ending it. */
export function accountSessionsRoutes(app: App, parts: SessionsParts): void {
  const { site, userSessions } = parts
  const { get, post } = createPageRoutes(app, parts, 'account')

  get('/sessions', {}, async ({ actor }) => {
    const { user, sessionId } = actor.caller
    return sessionsPage(await userSessions.list(user.id), sessionId)
  })

  post('/sessions/revoke-others', {}, async ({ actor }) => {
    await userSessions.revokeAll(actor, actor.caller.user.id)
    return { to: '/account/sessions', notice: 'sessions-revoked' }
  })

  post('/sessions/:session_id/revoke', { params: { session_id: Type.String() } }, async ({ params, actor }) => {
    await userSessions.revoke(actor, actor.caller.user.id, params.session_id)
    return { to: '/account/sessions', notice: 'session-revoked' }
  })

  function sessionsPage(sessions: readonly ListedSession[], own: string | undefined): Page {
    const base = `${site.root}/account/sessions`
    const now = site.now()
    const table = tableCard({
      title: 'Your sessions',
      hidesTitle: true,
      heads: ['Client', 'Signed in', 'Last seen'],
      rows: sessions.map(({ id, ip, userAgent, createdAt, lastSeenAt }) => [
        mainCell(clientOf(userAgent), ip ?? 'Unknown address'),
        ageOf(createdAt, now),
        ageOf(lastSeenAt, now),
        html`<div class="actions">${id === own ? badge('good', 'This session') : actionForm(`${base}/${id}/revoke`, 'Revoke', 'small')}</div>`,
      ]),
      hasActions: true,
      empty: emptyState('No sessions', 'You are not signed in anywhere.'),
      footer: html`<footer class="hint">If you do not recognise a session, revoke it and change your password.</footer>`,
    })
    const hasOthers = sessions.some(({ id }) => id !== own)
    return { title: 'Sessions', content: table, actions: hasOthers ? actionForm(`${base}/revoke-others`, 'Revoke all others') : undefined }
  }
}
