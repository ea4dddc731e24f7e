import { MAX_LISTED_SESSIONS } from '../../../domain/sessions/sessions.service.ts'
import { html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { askedForm, badge, emptyState, sessionCells, tableCard } from '../site/elements/cards.ts'
import { actionForm } from '../site/elements/fields.ts'
import { pageNumber, pageOf, pagePlace, pagesFooter, pagingOf } from '../site/elements/paging.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'

const PAGING = pagingOf({ size: 25, maxItems: MAX_LISTED_SESSIONS })
const Query = { page: pageNumber(PAGING) }

/** Where the caller is signed in, and ending it. */
export function accountSessionsRoutes({ get, action }: PageRoutes, { site, sessions }: PageParts): void {
  const base = `${site.root}/account/sessions`

  get('/sessions', {
    query: Query,
    async handle({ query, actor, texts }) {
      const { sessions: shown, navigation } = texts
      const { user, sessionId } = actor.caller
      const live = await sessions.list(user.id)
      const list = pageOf(live, query.page, PAGING)
      const now = site.now()
      // Revoking leads back to the page that has the button.
      const revoke = (id: string) => actionForm(`${base}/${id}/revoke${pagePlace(list)}`, shown.revoke, 'small')
      const content = tableCard({
        title: shown.title,
        hidesTitle: true,
        heads: shown.heads,
        rows: list.items.map((session) => [
          ...sessionCells(texts, session, now, shown.unknownIp),
          html`<div class="actions">${session.id === sessionId ? badge('good', shown.this) : revoke(session.id)}</div>`,
        ]),
        actions: navigation.actions,
        empty: emptyState(shown.none, shown.noneText),
        footer: html`${pagesFooter(texts, list, (number) => `${base}?page=${number}`)}<footer class="hint">${shown.footer}</footer>`,
      })
      const hasOthers = live.some(({ id }) => id !== sessionId)
      const endOthers = askedForm({
        action: `${base}/revoke-others`,
        verb: shown.endOthers,
        question: shown.endingOthers,
      })
      return { title: navigation.sessions, content, actions: hasOthers ? endOthers : undefined }
    },
  })

  action('/sessions/revoke-others', {
    asksForPassword: false,
    change: ({ actor }) => sessions.revokeAll(actor, actor.caller.user.id),
    to: '/account/sessions',
    notice: 'sessions-revoked',
  })

  action('/sessions/:session_id/revoke', {
    asksForPassword: false,
    params: { session_id: Type.String() },
    query: Query,
    change: ({ actor, params }) => sessions.revoke(actor, actor.caller.user.id, params.session_id),
    to: ({ query }) => `/account/sessions${pagePlace(query)}`,
    notice: 'session-revoked',
  })
}
