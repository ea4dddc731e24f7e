import type { FastifyReply, FastifyRequest } from 'fastify'
import { type KeyWithSecret, MAX_KEYS } from '../../../domain/keys/keys.service.ts'
import { MAX_OVERLAP_SECONDS, NAME_MAX_LENGTH, SCOPE_MAX_LENGTH } from '../../../domain/values/limits.ts'
import { MAX_COUNT, parseLimit } from '../../../domain/values/plans.ts'
import type { ApiKey, KeyAccess } from '../../../model/api-key.ts'
import type { Actor } from '../../../model/caller.ts'
import { type Html, html } from '../../../shared/html.ts'
import { nameField, Type } from '../../validation/schema.ts'
import { emptyState, keyCells, splitCard, tableCard } from '../site/elements/cards.ts'
import { type FormFields, invalidField } from '../site/elements/fields.ts'
import { type ListPage, pageFrom, pageNumber, pagePlace, pagesFooter, pagingOf } from '../site/elements/paging.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { PageRequest, Redirect } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'
import type { Texts } from '../texts/texts.ts'
import { keyPage, LIMIT_FIELD, type ShownKey, switchForm } from './key-page.ts'

const Key = { key_id: Type.String({ format: 'uuid' }) }
const PAGING = pagingOf({ size: 25, maxItems: MAX_KEYS })
const USE_DAYS = 30
/** The page of the list that is shown, or that the page of a key leads back to. */
const Query = { page: pageNumber(PAGING) }
type KeyRequest = PageRequest<typeof Key, typeof Query>
const toKey = ({ params, query }: KeyRequest) => `/account/keys/${params.key_id}${pagePlace(query)}`

/** The access of a new key whose owner chooses none. */
const NEW_ACCESS = 'identify' satisfies KeyAccess
const ACCESS: readonly KeyAccess[] = ['identify', 'read', 'full']
const FIELDS = {
  name: {
    schema: nameField('What the key is for.', 'Nightly export'),
    label: ({ fields }) => fields.name,
    maxLength: NAME_MAX_LENGTH,
    hint: ({ hints }) => hints.keyName,
  },
  access: { schema: Type.Optional(Type.Enum(['full', 'read', 'identify'])), label: ({ fields }) => fields.access },
  expires_at: {
    schema: Type.Optional(Type.String({ maxLength: 10 })),
    label: ({ fields }) => fields.expires,
    type: 'date',
    hint: ({ hints }) => hints.expires,
    isOptional: true,
  },
  limit: LIMIT_FIELD,
} as const satisfies FormFields

/**
 * The API keys of the caller. A secret is shown once, on the page that follows its creation. A key with full access sets a new password
 * without the old one, and one that reads exports: a working key needs the password that those actions need. A key that only identifies
 * its owner can do neither, but products trust the role of an admin.
 */
export function accountKeysRoutes(
  { get, post, form, action }: PageRoutes,
  { site, cookies, apiKeys, usage, plans, keyScopes = [] }: PageParts,
): void {
  const scopeFields = Object.fromEntries(keyScopes.map((_, index) => [scopeName(index), { schema: ScopeValue }]))
  const isPowerful = (access: KeyAccess, { caller }: Actor) => access !== 'identify' || caller.user.role === 'admin'
  /** Whether the key that a form names can do what needs the password. */
  const namesPowerful = async ({ params, actor }: Pick<KeyRequest, 'params' | 'actor'>) =>
    isPowerful((await apiKeys.find(actor.caller.user.id, params.key_id)).access, actor)

  get('/keys', {
    query: Query,
    handle: async ({ query, actor, texts }) =>
      keysPage(site, texts, await pageFrom(await apiKeys.list(actor, actor.caller.user.id), query.page, PAGING)),
  })

  form('/keys/new', {
    title: ({ keys }) => keys.newTitle,
    back: { path: '/account/keys', text: ({ navigation }) => navigation.keys },
    action: '/keys',
    asksForPassword: {
      to: ({ purposes }) => purposes.createKey,
      when: ({ body, actor }) => isPowerful(body.access ?? NEW_ACCESS, actor),
      cancel: '/account/keys',
    },
    fields: { ...scopeFields, ...FIELDS },
    show: ({ problem, field, values }, { texts }) =>
      splitCard({
        id: 'new',
        title: texts.keys.newCard,
        text: texts.keys.newText,
        content: html`<form class="form" method="post" action="${site.root}/account/keys">
${problem}${field('name', { hasFocus: true })}
${field('access', { choices: accessChoices(texts), value: NEW_ACCESS })}
${keyScopes.length === 0 ? undefined : scopesField(texts, keyScopes, values)}
${field('expires_at')}
${field('limit')}
<div class="actions"><button class="primary">${texts.keys.create}</button><a class="button" href="${site.root}/account/keys">${texts.buttons.cancel}</a></div>
</form>`,
      }),
    async submit({ body, actor, request, texts }, reply) {
      const { name, access = NEW_ACCESS, expires_at, limit } = body
      const key = {
        name,
        access,
        scopes: chosenScopes(keyScopes, body),
        expiresAt: parseExpiry(texts, expires_at),
        limit: limitOf(texts, limit),
      }
      return showOnce(await apiKeys.create(actor, actor.caller.user.id, key), request, reply)
    },
  })

  get('/keys/:key_id', {
    params: Key,
    query: Query,
    async handle({ params, query, actor, request, texts }, reply) {
      return showKey(texts, actor, params.key_id, { secret: cookies.takeSecret(request, reply, params.key_id), place: pagePlace(query) })
    },
  })

  post('/keys/:key_id/rotate', {
    asksForPassword: { to: ({ purposes }) => purposes.rotateKey, when: namesPowerful },
    params: Key,
    query: Query,
    fields: { overlap_seconds: { schema: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_OVERLAP_SECONDS })) } },
    async handle({ actor, params, query, body, request }, reply) {
      const key = await apiKeys.rotate(actor, actor.caller.user.id, params.key_id, body.overlap_seconds)
      return showOnce(key, request, reply, pagePlace(query))
    },
  })

  action('/keys/:key_id/limit', {
    asksForPassword: { to: ({ purposes }) => purposes.limitKey, when: namesPowerful },
    params: Key,
    query: Query,
    fields: { limit: FIELDS.limit },
    retry: (form, { actor, params, texts }) =>
      showKey(texts, actor, String((params as { key_id: unknown }).key_id), { secret: undefined, place: '', limitForm: form }),
    change: ({ actor, params, body, texts }) =>
      apiKeys.edit(actor, actor.caller.user.id, params.key_id, { limit: limitOf(texts, body.limit) ?? null }),
    to: toKey,
    notice: 'limit-saved',
  })

  action('/keys/:key_id/disable', {
    asksForPassword: false,
    params: Key,
    query: Query,
    change: ({ actor, params }) => apiKeys.edit(actor, actor.caller.user.id, params.key_id, { isActive: false }),
    to: toKey,
    notice: 'key-disabled',
  })

  action('/keys/:key_id/enable', {
    asksForPassword: { to: ({ purposes }) => purposes.enableKey, when: namesPowerful },
    params: Key,
    query: Query,
    change: ({ actor, params }) => apiKeys.edit(actor, actor.caller.user.id, params.key_id, { isActive: true }),
    to: toKey,
    notice: 'key-enabled',
  })

  async function showKey(texts: Texts, { caller }: Actor, keyId: string, shown: Omit<ShownKey, 'use' | 'plan'>): Promise<Page> {
    const { id } = caller.user
    const [key, use, plan] = await Promise.all([apiKeys.find(id, keyId), usage.ofKey(id, keyId, USE_DAYS), plans?.find(id)])
    return keyPage(site, texts, key, { ...shown, use, plan })
  }

  action('/keys/:key_id/delete', {
    asksForPassword: false,
    params: Key,
    query: Query,
    change: ({ actor, params }) => apiKeys.remove(actor, actor.caller.user.id, params.key_id),
    to: ({ query }) => `/account/keys${pagePlace(query)}`,
    notice: 'key-deleted',
  })

  /** Leads to the page of the key, so that a reload repeats nothing. The secret travels in a sealed cookie. */
  function showOnce(key: KeyWithSecret, request: FastifyRequest, reply: FastifyReply, place = ''): Redirect {
    cookies.setSecret(request, reply, key.id, key.secret)
    return { to: `/account/keys/${key.id}${place}` }
  }
}

function accessChoices({ keys }: Texts) {
  return ACCESS.map((access) => [access, keys.accessChoices[access]] as const)
}

/** A box of each scope has its own name, because a form sends no name twice. */
const ScopeValue = Type.Optional(Type.String({ maxLength: SCOPE_MAX_LENGTH }))

function scopeName(index: number): string {
  return `scope_${index}`
}

/** The boxes that were sent. A scope that the service no longer has is refused like any other. */
function chosenScopes(keyScopes: readonly string[], fields: Readonly<Record<string, unknown>>): string[] {
  const sent = keyScopes.map((_, index) => fields[scopeName(index)])
  return [...new Set(sent.filter((scope) => typeof scope === 'string'))]
}

function scopesField({ fields, hints }: Texts, keyScopes: readonly string[], values: Readonly<Record<string, string | undefined>>): Html {
  const chosen = chosenScopes(keyScopes, values)
  const boxes = keyScopes.map((scope, index) => {
    const checked = chosen.includes(scope) ? html` checked` : ''
    return html`<label class="check"><input type="checkbox" name="${scopeName(index)}" value="${scope}"${checked}> <span class="mono">${scope}</span></label>\n`
  })
  return html`<fieldset class="field" aria-describedby="scopes-hint"><legend>${fields.scopes}</legend>
${boxes}<p class="hint" id="scopes-hint">${hints.scopes}</p></fieldset>`
}

/** A field that is empty, or has a limit such as `10/m`. */
function limitOf({ keys, format }: Texts, text = ''): string | undefined {
  const limit = text.trim()
  if (limit !== '' && parseLimit(limit) === undefined) throw invalidField('limit', keys.limitForm(format.numberOf(MAX_COUNT)))
  return limit === '' ? undefined : limit
}

/** A date field is empty or `2026-01-31`. The key works through that day (UTC). */
function parseExpiry({ keys }: Texts, text = ''): number | undefined {
  if (text === '') return undefined
  const end = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T23:59:59.999Z`) : Number.NaN
  // A day that its month does not have becomes another day.
  if (Number.isNaN(end) || new Date(end).toISOString().slice(0, 10) !== text) throw invalidField('expires_at', keys.dateForm)
  return end
}

function keysPage({ root, now }: Site, texts: Texts, list: ListPage<ApiKey>): Page {
  const { keys, buttons, navigation } = texts
  const place = pagePlace(list)
  const create = html`<a class="button primary" href="${root}/account/keys/new">${keys.create}</a>`
  const content = tableCard({
    title: keys.title,
    hidesTitle: true,
    heads: keys.heads,
    rows: list.items.map((key) => {
      const base = `${root}/account/keys/${key.id}`
      const manage = html`<a class="button small" href="${base}${place}">${buttons.manage}</a>`
      return [
        ...keyCells(texts, key, now(), base + place),
        html`<div class="actions">${switchForm(texts, base, place, key, 'small')}${manage}</div>`,
      ]
    }),
    actions: navigation.actions,
    empty: emptyState(keys.none, keys.noneText, html`<p>${create}</p>`),
    footer: pagesFooter(texts, list, (page) => `${root}/account/keys?page=${page}`),
  })
  return { title: navigation.keys, content, actions: list.items.length > 0 ? create : undefined }
}
