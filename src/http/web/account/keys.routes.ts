import { type ApiKeys, type KeyWithSecret, MAX_KEYS } from '../../../domain/sessions/api-keys.service.ts'
import { MAX_OVERLAP_SECONDS } from '../../../domain/values/limits.ts'
import type { App } from '../../pipeline/app-type.ts'
import { nameField } from '../../validation/fields.ts'
import { Type } from '../../validation/schema.ts'
import { NO_PROBLEMS } from '../site/elements/fields.ts'
import { pageFrom } from '../site/elements/tables.ts'
import type { Notice } from '../site/notices.ts'
import { createPageRoutes, type PageParts, type PageRequest, type Redirect } from '../site/page-routes.ts'
import type { SecretFlash } from '../site/secret-flash.ts'
import { keyPage, keysPage, newKeyPage } from './keys.pages.ts'
import { KEY_LABELS, parseExpiry, parseScopes } from './new-key.ts'

export type KeysParts = PageParts & { readonly apiKeys: ApiKeys; readonly secretFlash: SecretFlash }

const Key = { key_id: Type.String({ format: 'uuid' }) }
const PAGE_SIZE = 25
const Query = { page: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_KEYS / PAGE_SIZE })) }
const KeyName = nameField('What the key is for.', 'Nightly export')

/**
 * The API keys of the caller. A secret is shown once, on the page that follows its creation. With a key an admin can make admins, delete
 * users and export, so that a working key needs the password that those actions need.
 */
export function accountKeysRoutes(app: App, parts: KeysParts): void {
  const { site, apiKeys, secretFlash } = parts
  const { get, post } = createPageRoutes(app, parts, 'account')

  get('/keys', { query: Query }, async ({ query, actor }) =>
    keysPage(site, await pageFrom(await apiKeys.list(actor, actor.caller.user.id), query.page ?? 1, PAGE_SIZE)),
  )

  get('/keys/new', {}, () => newKeyPage(site, NO_PROBLEMS, {}))

  post(
    '/keys',
    {
      recentPassword: 'admins',
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
      const { name, access, scopes, expires_at } = input.body
      const { actor } = input
      const key = { name, access, scopes: parseScopes(scopes), expiresAt: parseExpiry(expires_at) }
      return showOnce(input, await apiKeys.create(actor, actor.caller.user.id, key))
    },
  )

  get('/keys/:key_id', { params: Key }, async ({ params, actor, request, reply }) => {
    const key = await apiKeys.find(actor.caller.user.id, params.key_id)
    return keyPage(site, key, secretFlash.take(request, reply, key.id))
  })

  post(
    '/keys/:key_id/rotate',
    {
      recentPassword: 'admins',
      params: Key,
      body: { overlap_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_OVERLAP_SECONDS })) },
    },
    async (input) => {
      const { actor, params, body } = input
      return showOnce(input, await apiKeys.rotate(actor, actor.caller.user.id, params.key_id, body.overlap_seconds))
    },
  )

  switchTo('disable', false, 'key-disabled')
  switchTo('enable', true, 'key-enabled')
  function switchTo(name: string, isActive: boolean, notice: Notice): void {
    post(`/keys/:key_id/${name}`, { params: Key, recentPassword: isActive && 'admins' }, async ({ params, actor }) => {
      await apiKeys.edit(actor, actor.caller.user.id, params.key_id, { isActive })
      return { to: `/account/keys/${params.key_id}`, notice }
    })
  }

  post('/keys/:key_id/delete', { params: Key }, async ({ params, actor }) => {
    await apiKeys.remove(actor, actor.caller.user.id, params.key_id)
    return { to: '/account/keys', notice: 'key-revoked' }
  })

  /** Leads to the page of the key, so that a reload repeats nothing. The secret travels in a sealed cookie. */
  function showOnce({ request, reply }: Pick<PageRequest<never, never, never>, 'request' | 'reply'>, key: KeyWithSecret): Redirect {
    secretFlash.set(request, reply, key.id, key.secret)
    return { to: `/account/keys/${key.id}` }
  }
}
