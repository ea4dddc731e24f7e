import { type ApiKeys, type KeyWithSecret, MAX_KEYS } from '../../../domain/keys/keys.service.ts'
import { isScope, MAX_OVERLAP_SECONDS, MAX_SCOPES, SCOPE_MAX_LENGTH } from '../../../domain/values/limits.ts'
import type { ApiKeyChanges, KeyAccess } from '../../../model/api-key.ts'
import type { Actor } from '../../../model/caller.ts'
import type { App } from '../../pipeline/declarations.ts'
import { nameField, Type } from '../../validation/schema.ts'
import { InvalidRequest } from '../../validation/validation-error.ts'
import type { SecretFlash } from '../site/cookies.ts'
import { NO_PROBLEMS } from '../site/elements/fields.ts'
import { laterPage, pageFrom, pageNumber, pagingOf, queryText } from '../site/elements/paging.ts'
import type { Notice } from '../site/messages.ts'
import { createPageRoutes, type PageParts, type PageRequest, type Redirect } from '../site/page-routes.ts'
import { KEY_LABELS, keyPage, keysPage, NEW_ACCESS, newKeyPage } from './keys.pages.ts'

const DATE = /^\d{4}-\d{2}-\d{2}$/

/** Scopes are separated by spaces or commas. */
function parseScopes(text = ''): string[] {
  const scopes = [...new Set(text.split(/[\s,]+/).filter((scope) => scope !== ''))]
  if (scopes.length > MAX_SCOPES) throw invalid('scopes', `There should be at most ${MAX_SCOPES} scopes`)
  if (!scopes.every(isScope)) throw invalid('scopes', `Each scope should have at most ${SCOPE_MAX_LENGTH} printable characters`)
  return scopes
}

/** A date field is empty or `2026-01-31`. The key works through that day (UTC). */
function parseExpiry(text = ''): number | undefined {
  if (text === '') return undefined
  const end = DATE.test(text) ? Date.parse(`${text}T23:59:59.999Z`) : Number.NaN
  // A day that its month does not have becomes another day.
  if (Number.isNaN(end) || new Date(end).toISOString().slice(0, 10) !== text)
    throw invalid('expires_at', 'This should be a date such as 2027-01-31')
  return end
}

function invalid(field: string, message: string): InvalidRequest {
  return new InvalidRequest([{ loc: ['body', field], type: 'value_error', msg: `Value error, ${message}` }])
}

export type KeysParts = PageParts & { readonly apiKeys: ApiKeys; readonly secretFlash: SecretFlash }

const Key = { key_id: Type.String({ format: 'uuid' }) }
const PAGING = pagingOf({ size: 25, maxItems: MAX_KEYS })
/** The page of the list that is shown, or that the page of a key leads back to. */
const Query = { page: pageNumber(PAGING) }
type KeyRequest = PageRequest<typeof Key, typeof Query, Record<never, never>>
const KeyName = nameField('What the key is for.', 'Nightly export')

/**
 * The API keys of the caller. A secret is shown once, on the page that follows its creation. A key with full access sets a new password
 * without the old one, and one that reads exports: a working key needs the password that those actions need. A key that only identifies
 * its owner can do neither, but products trust the role of an admin.
 */
export function accountKeysRoutes(app: App, parts: KeysParts): void {
  const { site, apiKeys, secretFlash } = parts
  const { get, post } = createPageRoutes(app, parts, 'account')

  const isPowerful = (access: KeyAccess, { caller }: Actor) => access !== 'identify' || caller.user.role === 'admin'
  /** Whether the key that a form names can do what needs the password. */
  const namesPowerful = async ({ params, actor }: Pick<KeyRequest, 'params' | 'actor'>) =>
    isPowerful((await apiKeys.find(actor.caller.user.id, params.key_id)).access, actor)

  get('/keys', { query: Query }, async ({ query, actor }) =>
    keysPage(site, await pageFrom(await apiKeys.list(actor, actor.caller.user.id), query.page, PAGING)),
  )

  get('/keys/new', {}, () => newKeyPage(site, NO_PROBLEMS, {}))

  post(
    '/keys',
    {
      asksForPassword: {
        to: 'create this key',
        when: ({ body, actor }) => isPowerful(body.access ?? NEW_ACCESS, actor),
        cancel: '/account/keys',
      },
      body: {
        name: KeyName,
        scopes: Type.Optional(Type.String({ maxLength: 2000 })),
        access: Type.Optional(Type.Enum(['full', 'read', 'identify'])),
        expires_at: Type.Optional(Type.String({ maxLength: 10 })),
      },
      labels: KEY_LABELS,
      retry: (problems, values) => newKeyPage(site, problems, values),
    },
    async (input) => {
      const { name, access = NEW_ACCESS, scopes, expires_at } = input.body
      const { actor } = input
      const key = { name, access, scopes: parseScopes(scopes), expiresAt: parseExpiry(expires_at) }
      return showOnce(input, await apiKeys.create(actor, actor.caller.user.id, key))
    },
  )

  get('/keys/:key_id', { params: Key, query: Query }, async ({ params, query, actor, request, reply }) => {
    const key = await apiKeys.find(actor.caller.user.id, params.key_id)
    return keyPage(site, key, { secret: secretFlash.take(request, reply, key.id), place: placeOf(query) })
  })

  post(
    '/keys/:key_id/rotate',
    {
      asksForPassword: { to: 'rotate this key', when: namesPowerful },
      params: Key,
      query: Query,
      body: { overlap_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_OVERLAP_SECONDS })) },
    },
    async (input) => {
      const { actor, params, query, body } = input
      return showOnce(input, await apiKeys.rotate(actor, actor.caller.user.id, params.key_id, body.overlap_seconds), placeOf(query))
    },
  )

  post('/keys/:key_id/disable', { asksForPassword: false, params: Key, query: Query }, (input) =>
    edit(input, { isActive: false }, 'key-disabled'),
  )

  post('/keys/:key_id/enable', { asksForPassword: { to: 'enable this key', when: namesPowerful }, params: Key, query: Query }, (input) =>
    edit(input, { isActive: true }, 'key-enabled'),
  )

  async function edit({ actor, params, query }: KeyRequest, changes: ApiKeyChanges, notice: Notice): Promise<Redirect> {
    await apiKeys.edit(actor, actor.caller.user.id, params.key_id, changes)
    return { to: `/account/keys/${params.key_id}${placeOf(query)}`, notice }
  }

  post('/keys/:key_id/delete', { asksForPassword: false, params: Key, query: Query }, async ({ params, query, actor }) => {
    await apiKeys.remove(actor, actor.caller.user.id, params.key_id)
    return { to: `/account/keys${placeOf(query)}`, notice: 'key-revoked' }
  })

  /** Leads to the page of the key, so that a reload repeats nothing. The secret travels in a sealed cookie. */
  function showOnce({ request, reply }: Pick<KeyRequest, 'request' | 'reply'>, key: KeyWithSecret, place = ''): Redirect {
    secretFlash.set(request, reply, key.id, key.secret)
    return { to: `/account/keys/${key.id}${place}` }
  }
}

/** The place in the list, as the query of an address. */
function placeOf({ page }: { readonly page?: number | undefined }): string {
  return queryText({ page: laterPage(page) })
}
