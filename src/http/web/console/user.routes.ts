import type { FastifyRequest } from 'fastify'
import { MAX_KEYS } from '../../../domain/keys/keys.service.ts'
import { MAX_LISTED_SESSIONS } from '../../../domain/sessions/sessions.service.ts'
import type { Actor } from '../../../model/caller.ts'
import type { PasswordQuestion } from '../../pipeline/declarations.ts'
import { Type } from '../../validation/schema.ts'
import { pageFrom, pageNumber, pageOf, pagingOf } from '../site/elements/paging.ts'
import type { Notice } from '../site/messages.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'
import { idsIn } from './audit.routes.ts'
import { DATA_FIELDS, PLAN_FIELDS, type RefusedForms, type Shown, userPage, userPath } from './user-cards.ts'

const UserPath = { user_id: Type.Integer() }
const KeyPath = { ...UserPath, key_id: Type.String({ format: 'uuid' }) }
const SESSIONS = pagingOf({ size: 10, maxItems: MAX_LISTED_SESSIONS })
const KEYS = pagingOf({ size: 10, maxItems: MAX_KEYS })
/** The pages of the two lists that are shown. */
const Query = { sessions: pageNumber(SESSIONS), keys: pageNumber(KEYS) }
const MAX_EVENTS_SHOWN = 5
const USE_DAYS = 30
const MAX_MAILS_SHOWN = 3

type Question = PasswordQuestion<{ readonly params: { readonly user_id: number } }>
type Change = (actor: Actor, userId: number) => Promise<unknown>

const toUser = ({ params }: { readonly params: { readonly user_id: number } }) => `/console/users/${params.user_id}`
const toLists = ({ params, query }: { readonly params: { readonly user_id: number }; readonly query: Shown }) =>
  userPath(params.user_id, query)

/** One account, and everything that an admin may do with it. */
export function consoleUserRoutes({ get, action }: PageRoutes, parts: PageParts): void {
  const { site, userDirectory, userAdministration, productData, sessions, apiKeys, audit, secondFactor, mailAdministration, plans, usage } =
    parts

  async function show(actor: Actor, userId: number, shown: Shown, refused: RefusedForms = {}): Promise<Page> {
    const user = await userDirectory.find(userId)
    const [live, keys, data, events, factors, mails, plan, use] = await Promise.all([
      sessions.list(user.id),
      apiKeys.list(actor, user.id).then((all) => pageFrom(all, shown.keys, KEYS)),
      productData.find(user.id),
      audit.list({ target: user.id, size: MAX_EVENTS_SHOWN }),
      secondFactor.status(user.id),
      mailAdministration.history({ to: user.email, size: MAX_MAILS_SHOWN }),
      plans?.find(user.id),
      usage.ofUser(user.id, USE_DAYS),
    ])
    const used = { plan: plan && { plan, names: plans?.names ?? [] }, use }
    const listed = {
      sessions: pageOf(live, shown.sessions, SESSIONS),
      keys,
      events: events.items,
      emails: await userDirectory.addressesOf(idsIn(events.items)),
      mails,
    }
    return userPage(site, actor.caller, { user, factors, ...listed, ...used, data, refused })
  }

  /** The page with a form that was refused. The path may be invalid too. */
  function showAgain({ actor, params }: FastifyRequest, refused: RefusedForms): Promise<Page> {
    return show(actor, Number((params as { user_id: unknown }).user_id) || 0, {}, refused)
  }

  get('/users/:user_id', {
    params: UserPath,
    query: Query,
    handle: ({ params, query, actor }) => show(actor, params.user_id, query),
  })

  if (plans !== undefined)
    action('/users/:user_id/plan', {
      asksForPassword: false,
      params: UserPath,
      fields: PLAN_FIELDS,
      retry: (plan, request) => showAgain(request, { plan }),
      change: ({ actor, params, body }) => plans.set(actor, params.user_id, body.plan),
      to: toUser,
      notice: 'plan-changed',
    })

  action('/users/:user_id/data', {
    asksForPassword: false,
    params: UserPath,
    fields: DATA_FIELDS,
    retry: (data, request) => showAgain(request, { data }),
    change: ({ actor, params, body }) => productData.replace(actor, params.user_id, body),
    to: toUser,
    notice: 'data-saved',
  })

  // An account of an admin that works again is one admin more.
  const when: Question['when'] = async ({ params }) => (await userAdministration.find(params.user_id)).role === 'admin'
  const { verify, ban, unban, makeAdmin, revokeAdmin, sendPasswordReset } = userAdministration
  userAction('verify', verify, 'user-verified', { to: 'verify this admin', when })
  userAction('ban', ban, 'user-banned')
  userAction('unban', unban, 'user-unbanned', { to: 'unban this admin', when })
  userAction('make-admin', makeAdmin, 'user-promoted', { to: 'make this user an admin' })
  userAction('revoke-admin', revokeAdmin, 'user-demoted', { to: 'remove the admin role of this user' })
  userAction('send-reset', sendPasswordReset, 'reset-sent')
  userAction('reset-second-factor', secondFactor.reset, 'factor-reset', { to: 'reset the second factor of this user' })

  function userAction(name: string, change: Change, notice: Notice, asksForPassword: Question | false = false): void {
    action(`/users/:user_id/${name}`, {
      asksForPassword,
      params: UserPath,
      change: ({ actor, params }) => change(actor, params.user_id),
      to: toUser,
      notice,
    })
  }

  action('/users/:user_id/delete', {
    asksForPassword: { to: 'delete this user' },
    params: UserPath,
    change: ({ actor, params }) => userAdministration.remove(actor, params.user_id),
    to: '/console/users',
    notice: 'user-deleted',
  })

  action('/users/:user_id/sessions/end-all', {
    asksForPassword: false,
    params: UserPath,
    change: async ({ actor, params }) => ({
      count: await sessions.revokeAll(actor, params.user_id),
      // The session of the caller stays.
      isOwn: actor.caller.user.id === params.user_id,
    }),
    to: toUser,
    notice: ({ count, isOwn }) => (count === 0 ? 'user-has-no-sessions' : isOwn ? 'own-sessions-ended' : 'user-sessions-ended'),
  })

  // The buttons of the lists lead back to the pages of the lists that were shown.
  action('/users/:user_id/sessions/:session_id/revoke', {
    asksForPassword: false,
    params: { ...UserPath, session_id: Type.String() },
    query: Query,
    change: ({ actor, params }) => sessions.revoke(actor, params.user_id, params.session_id),
    to: toLists,
    notice: 'session-revoked',
  })

  action('/users/:user_id/keys/:key_id/disable', {
    asksForPassword: false,
    params: KeyPath,
    query: Query,
    change: ({ actor, params }) => apiKeys.edit(actor, params.user_id, params.key_id, { isActive: false }),
    to: toLists,
    notice: 'key-disabled',
  })

  action('/users/:user_id/keys/:key_id/enable', {
    // A key of an admin may change every account.
    asksForPassword: { to: 'enable this key of an admin', when },
    params: KeyPath,
    query: Query,
    change: ({ actor, params }) => apiKeys.edit(actor, params.user_id, params.key_id, { isActive: true }),
    to: toLists,
    notice: 'key-enabled',
  })

  action('/users/:user_id/keys/:key_id/delete', {
    asksForPassword: false,
    params: KeyPath,
    query: Query,
    change: ({ actor, params }) => apiKeys.remove(actor, params.user_id, params.key_id),
    to: toLists,
    notice: 'key-deleted',
  })
}
