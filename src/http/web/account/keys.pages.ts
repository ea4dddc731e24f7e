import type { ApiKey, KeyAccess } from '../../../model/api-key.ts'
import { type Html, html } from '../../../shared/html.ts'
import { actionForm, formProblem, inputField, type Problems } from '../site/elements/fields.ts'
import { ageOf, shortText, timeOf } from '../site/elements/format.ts'
import { keyBadge, keyPrefix, keyTimes } from '../site/elements/keys.ts'
import { type ListPage, laterPage, pagesFooter, queryText } from '../site/elements/paging.ts'
import { emptyState, fact, mainCell, NEVER, tableCard } from '../site/elements/tables.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'

export const KEY_LABELS = { name: 'Name', scopes: 'Scopes', access: 'Access', expires_at: 'Expires' }
/** The access of a new key whose owner chooses none. */
export const NEW_ACCESS = 'identify' satisfies KeyAccess
const ACCESS: readonly (readonly [KeyAccess, string])[] = [
  ['identify', 'Identify: only says who you are'],
  ['read', 'Read: no changes'],
  ['full', 'Full: everything that you can do'],
]
const OVERLAPS: readonly (readonly [seconds: number, text: string])[] = [
  [0, 'Stops working at once'],
  [3600, 'Works for one more hour'],
  [86_400, 'Works for one more day'],
  [604_800, 'Works for seven more days'],
]

export function keysPage(site: Site, list: ListPage<ApiKey>): Page {
  const now = site.now()
  const place = queryText({ page: laterPage(list.page) })
  const create = html`<a class="button primary" href="${site.root}/account/keys/new">Create API key</a>`
  const table = tableCard({
    title: 'Your API keys',
    hidesTitle: true,
    heads: ['API key', 'Status', 'Access', 'Created', 'Expires', 'Last used'],
    rows: list.items.map((key) => {
      const href = `${site.root}/account/keys/${key.id}`
      return [
        mainCell(shortText(key.name), keyPrefix(key), href + place),
        keyBadge(key, now),
        key.access,
        ...keyTimes(key, now),
        html`<div class="actions">${switchForm(href, place, key, 'small')}<a class="button small" href="${href}${place}">Manage</a></div>`,
      ]
    }),
    hasActions: true,
    empty: emptyState('No API keys', 'Create one for each program that calls the API for you.', html`<p>${create}</p>`),
    footer: pagesFooter(list, (page) => `${site.root}/account/keys?page=${page}`),
  })
  return { title: 'API keys', content: table, actions: list.items.length > 0 ? create : undefined }
}

export function newKeyPage({ root }: Site, problems: Problems, values: Readonly<Record<string, string>>): Page {
  const options = ACCESS.map(
    ([access, text]) =>
      html`<option value="${access}"${(values['access'] ?? NEW_ACCESS) === access ? html` selected` : ''}>${text}</option>`,
  )
  const scopesHint = 'Permissions that your own services check, such as reports:read. Separate them with spaces.'
  const content = html`<section class="card split" aria-labelledby="new"><header><h2 id="new">A key for a program</h2>
<p class="quiet">A program uses the key to call the API as you. The key is shown once, on the next page.</p></header>
<form class="form" method="post" action="${root}/account/keys">
${formProblem(problems)}${inputField({ name: 'name', label: KEY_LABELS.name, value: values['name'], maxLength: 100, hint: 'Where the key is used, such as a server or a program.', hasFocus: true }, problems)}
<div class="field"><label for="access">${KEY_LABELS.access}</label><select id="access" name="access">${options}</select></div>
${inputField({ name: 'scopes', label: KEY_LABELS.scopes, value: values['scopes'], hint: scopesHint, isOptional: true }, problems)}
${inputField({ name: 'expires_at', label: KEY_LABELS.expires_at, type: 'date', value: values['expires_at'], hint: 'The last day on which the key works (UTC). Leave it empty for a key that does not expire.', isOptional: true }, problems)}
<div class="actions"><button class="primary">Create API key</button><a class="button" href="${root}/account/keys">Cancel</a></div>
</form></section>`
  return { title: 'Create an API key', content, back: { path: '/account/keys', text: 'API keys' } }
}

type KeyView = {
  /** Only on the visit that follows its creation. */
  readonly secret: string | undefined
  /** The place in the list that the page leads back to, as the query of an address. */
  readonly place: string
}

export function keyPage(site: Site, key: ApiKey, { secret, place }: KeyView): Page {
  const base = `${site.root}/account/keys/${key.id}`
  const content = html`${secret === undefined ? undefined : secretCard(secret)}
${factsCard(key, site.now())}
${rotateCard(base, place)}
<section class="card split" aria-labelledby="deletion"><header><h2 id="deletion">Delete this key</h2>
<p class="quiet">Programs that use this key stop working at once. This cannot be undone. To stop them for a while, disable the key.</p></header>
<details class="confirm"><summary>Delete…</summary>
<form method="post" action="${base}/delete${place}"><p>Delete <strong>${key.name}</strong> for good?</p><button class="danger">Delete</button></form>
</details></section>`
  return {
    title: key.name,
    content,
    badges: keyBadge(key, site.now()),
    actions: switchForm(base, place, key, ''),
    back: { path: `/account/keys${place}`, text: 'API keys' },
  }
}

function secretCard(secret: string): Html {
  return html`<section class="card" aria-labelledby="secret"><h2 id="secret">Your new key</h2>
<p class="notice warn" role="status">Copy it now. It is shown only once, and nobody can look it up later.</p>
<div class="secret"><input class="mono" id="key" aria-label="API key" value="${secret}" readonly><button class="primary" data-copy="key" hidden>Copy</button></div>
<p class="hint">Programs send it in the header <code>X-API-Key</code>.</p></section>\n`
}

function factsCard(key: ApiKey, now: number): Html {
  const { access, scopes, createdAt, expiresAt, lastUsedAt, retiringUntil } = key
  return html`<section class="card" aria-label="Key"><dl class="strip">
${fact('Begins with', keyPrefix(key))}
${fact('Access', html`${access}`)}
${fact('Scopes', scopes.length === 0 ? html`<span class="quiet">none</span>` : html`<span class="mono">${scopes.join(' ')}</span>`)}
${fact('Created', timeOf(createdAt))}
${fact('Expires', expiresAt === undefined ? NEVER : timeOf(expiresAt))}
${fact('Last used', lastUsedAt === undefined ? NEVER : ageOf(lastUsedAt, now))}
${retiringUntil === undefined ? undefined : fact('Former secret', html`works until ${timeOf(retiringUntil)}`)}
</dl></section>`
}

function rotateCard(base: string, place: string): Html {
  const options = OVERLAPS.map(([seconds, text]) => html`<option value="${seconds}">${text}</option>`)
  return html`<section class="card split" aria-labelledby="rotation"><header><h2 id="rotation">Rotate this key</h2>
<p class="quiet">The key gets a new secret. Everything else stays the same.</p></header>
<form class="form" method="post" action="${base}/rotate${place}">
<div class="field"><label for="overlap_seconds">Current secret</label><select id="overlap_seconds" name="overlap_seconds">${options}</select></div>
<div class="actions"><button>Rotate</button></div>
</form></section>`
}

function switchForm(base: string, place: string, { isActive }: ApiKey, kind: '' | 'small'): Html {
  return isActive ? actionForm(`${base}/disable${place}`, 'Disable', kind) : actionForm(`${base}/enable${place}`, 'Enable', kind)
}
