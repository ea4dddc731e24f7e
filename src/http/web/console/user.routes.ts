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
import { PLAN_FIELDS, type RefusedForms, type Shown, userPage, userPath } from './user-cards.ts'
import { DATA_FIELDS } from './user-data.ts'

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
type Action<Args extends readonly unknown[]> = {
  readonly notice: Notice
  readonly asksForPassword?: Question | false
  readonly change: (...args: Args) => Promise<unknown>
}

/** One account, and everything that an admin may do with it. */
export function consoleUserRoutes({ get, post }: PageRoutes, parts: PageParts): void {
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
  function showAgain({ caller, origin, params }: FastifyRequest, refused: RefusedForms): Promise<Page> {
    return show({ caller, origin }, Number((params as { user_id: unknown }).user_id) || 0, {}, refused)
  }

  get('/users/:user_id', {
    params: UserPath,
    query: Query,
    handle: ({ params, query, actor }) => show(actor, params.user_id, query),
  })

  if (plans !== undefined)
    post('/users/:user_id/plan', {
      asksForPassword: false,
      params: UserPath,
      fields: PLAN_FIELDS,
      retry: (plan, request) => showAgain(request, { plan }),
      async handle({ params, body, actor }) {
        await plans.set(actor, params.user_id, body.plan)
        return { to: `/console/users/${params.user_id}`, notice: 'plan-changed' }
      },
    })

  post('/users/:user_id/data', {
    asksForPassword: false,
    params: UserPath,
    fields: DATA_FIELDS,
    retry: (data, request) => showAgain(request, { data }),
    async handle({ params, body, actor }) {
      await productData.replace(actor, params.user_id, body)
      return { to: `/console/users/${params.user_id}`, notice: 'data-saved' }
    },
  })

  const { verify, ban, unban, makeAdmin, revokeAdmin, sendPasswordReset } = userAdministration
  // An account of an admin that works again is one admin more.
  const when: Question['when'] = async ({ params }) => (await userAdministration.find(params.user_id)).role === 'admin'
  action('verify', { change: verify, notice: 'user-verified', asksForPassword: { to: 'verify this admin', when } })
  action('ban', { change: ban, notice: 'user-banned' })
  action('unban', { change: unban, notice: 'user-unbanned', asksForPassword: { to: 'unban this admin', when } })
  action('make-admin', { change: makeAdmin, notice: 'user-promoted', asksForPassword: { to: 'make this user an admin' } })
  action('revoke-admin', { change: revokeAdmin, notice: 'user-demoted', asksForPassword: { to: 'remove the admin role of this user' } })
  action('send-reset', { change: sendPasswordReset, notice: 'reset-sent' })
  action('reset-second-factor', {
    change: secondFactor.reset,
    notice: 'factor-reset',
    asksForPassword: { to: 'reset the second factor of this user' },
  })
  post('/users/:user_id/delete', {
    asksForPassword: { to: 'delete this user' },
    params: UserPath,
    async handle({ params, actor }) {
      await userAdministration.remove(actor, params.user_id)
      return { to: '/console/users', notice: 'user-deleted' }
    },
  })

  post('/users/:user_id/sessions/end-all', {
    asksForPassword: false,
    params: UserPath,
    async handle({ params, actor }) {
      const count = await sessions.revokeAll(actor, params.user_id)
      return { to: `/console/users/${params.user_id}`, notice: count > 0 ? 'user-sessions-ended' : 'user-has-no-sessions' }
    },
  })

  // The buttons of the lists lead back to the pages of the lists that were shown.
  post('/users/:user_id/sessions/:session_id/revoke', {
    asksForPassword: false,
    params: { ...UserPath, session_id: Type.String() },
    query: Query,
    async handle({ params, query, actor }) {
      await sessions.revoke(actor, params.user_id, params.session_id)
      return { to: userPath(params.user_id, query), notice: 'session-revoked' }
    },
  })
  keyAction('disable', {
    change: (actor, userId, keyId) => apiKeys.edit(actor, userId, keyId, { isActive: false }),
    notice: 'key-disabled',
  })
  keyAction('enable', {
    change: (actor, userId, keyId) => apiKeys.edit(actor, userId, keyId, { isActive: true }),
    notice: 'key-enabled',
    // A key of an admin may change every account.
    asksForPassword: { to: 'enable this key of an admin', when },
  })
  keyAction('delete', { change: apiKeys.remove, notice: 'key-deleted' })

  function keyAction(
    name: string,
    { change, notice, asksForPassword = false }: Action<[actor: Actor, userId: number, keyId: string]>,
  ): void {
    post(`/users/:user_id/keys/:key_id/${name}`, {
      asksForPassword,
      params: KeyPath,
      query: Query,
      async handle({ params, query, actor }) {
        await change(actor, params.user_id, params.key_id)
        return { to: userPath(params.user_id, query), notice }
      },
    })
  }

  /** A button that changes the account and leads back to its page. */
  function action(name: string, { change, notice, asksForPassword = false }: Action<[actor: Actor, userId: number]>): void {
    post(`/users/:user_id/${name}`, {
      asksForPassword,
      params: UserPath,
      async handle({ params, actor }) {
        await change(actor, params.user_id)
        return { to: `/console/users/${params.user_id}`, notice }
      },
    })
  }
}
