import { UNUSED_DAYS } from '../../../domain/keys/key-use.ts'
import { withoutSecrets } from '../../../domain/keys/keys.service.ts'
import type { FoundKey, FoundKeyState } from '../../../domain/keys/leaked-keys.service.ts'
import { SEARCH_TERM_MAX_LENGTH } from '../../../domain/values/search.ts'
import type { OwnedApiKey } from '../../../model/api-key.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { badge, emptyState, keyBadge, keyPrefix, keyTimes, mainCell, tableCard } from '../site/elements/cards.ts'
import { shortText } from '../site/elements/format.ts'
import { partOf, queryText, stepLink, stepsFooter } from '../site/elements/paging.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Place } from '../site/page-routes.ts'
import type { Page } from '../site/shell.ts'
import { CONSOLE_TEXTS } from '../texts/texts.ts'

const LIST_SIZE = 10
const PAGE_SIZE = 20
const MAX_FOUND = 50
const KEY_MAX_LENGTH = 200
const Term = Type.Optional(Type.String({ trimmed: true, maxLength: SEARCH_TERM_MAX_LENGTH, default: '' }))
const Query = {
  q: Term,
  below: Type.Optional(Type.Integer({ minimum: 1 })),
}
const STATES: Readonly<Record<FoundKeyState, Html>> = {
  live: badge('good', 'Active'),
  disabled: badge('bad', 'Disabled'),
  expired: badge('warn', 'Expired'),
  suspended: badge('warn', 'Suspended with its owner'),
}

/** Whose key is this, and which keys should be cleaned up. */
export function consoleKeysRoutes({ get, post }: PageRoutes, { site, keyDirectory, leakedKeys }: PageParts): void {
  get('/keys', { query: Query, handle: ({ query }) => page(query) })

  // By POST, so that the key appears in no address, history or log.
  post('/keys', {
    asksForPassword: false,
    writes: false,
    fields: { key: { schema: Type.String({ trimmed: true, maxLength: KEY_MAX_LENGTH }) } },
    handle: async ({ body }) => page({}, found(await leakedKeys.find(body.key))),
  })

  // By POST as well: somebody may paste a whole key.
  post('/keys/search', {
    asksForPassword: false,
    writes: false,
    fields: { q: { schema: Term } },
    handle: ({ body }) => ({ to: `/console/keys${queryText({ q: withoutSecrets(body.q ?? '') })}` }),
  })

  async function page({ q = '', below }: Place<typeof Query>, result?: Html): Promise<Page> {
    const search = html`<form class="filters" role="search" method="post" action="${site.root}/console/keys/search">
<div class="field wide"><label for="q">Search</label><input id="q" name="q" type="search" value="${q}" placeholder="Key prefix, name or owner" autocomplete="off" spellcheck="false" maxlength="${SEARCH_TERM_MAX_LENGTH}"></div>
<button>Search</button>
</form>`
    return { title: 'API keys', content: html`${whose(result)}\n${search}\n${q === '' ? await everything(below) : await matches(q)}` }
  }

  /** The keys that a search finds. */
  async function matches(q: string): Promise<Html> {
    const keys = await keyDirectory.search(q, MAX_FOUND)
    const all = html`<p><a href="${site.root}/console/keys">Show all keys</a></p>`
    return tableCard({
      ...table('Matching keys', keys),
      empty: emptyState('No matching keys', `No key begins with “${q}”, is named so, or belongs to such a user.`, all),
      footer:
        keys.length < MAX_FOUND
          ? undefined
          : html`<footer class="hint">Only the first ${MAX_FOUND} are shown. Enter more characters.</footer>`,
    })
  }

  async function everything(below: number | undefined): Promise<Html> {
    const [keys, expired, unused] = await Promise.all([
      keyDirectory.page(below, PAGE_SIZE + 1),
      keyDirectory.expired(LIST_SIZE),
      keyDirectory.unused(LIST_SIZE),
    ])
    const { shown, last } = partOf(keys, PAGE_SIZE)
    const to = (seq?: number) => `${site.root}/console/keys${queryText({ below: seq })}`
    const all = tableCard({
      ...table('All keys', shown),
      empty: emptyState('No API keys', 'Keys appear here when users create them.'),
      footer: stepsFooter({ back: below ? stepLink(to(), 'Newest') : undefined, on: last && stepLink(to(last.seq), 'Older →') }),
    })
    if (below !== undefined) return all
    return html`${all}
${list('Expired', expired, 'No expired keys', 'Keys appear here when they expire.')}
${list('Unused', unused, 'No unused keys', `Every active key was used or created in the last ${UNUSED_DAYS} days.`)}`
  }

  function whose(result: Html | undefined): Html {
    return html`<section class="card" aria-labelledby="find"><h2 id="find">Whose key is this?</h2>
<form class="filters" method="post" action="${site.root}/console/keys">
<div class="field wide"><label for="key">API key</label><input id="key" name="key" type="text" autocomplete="off" spellcheck="false" maxlength="${KEY_MAX_LENGTH}" required aria-describedby="key-hint"></div>
<button class="primary">Find owner</button>
</form>
<p class="hint" id="key-hint">Paste a complete key, for example from a log or a leak. It is neither stored nor logged, and looking it up does not count as using it.</p>
${result}</section>`
  }

  function found(key: FoundKey | undefined): Html {
    if (key === undefined)
      return html`<p class="notice" role="status">No key of this service has this secret. It may be mistyped, rotated or deleted.</p>`
    return html`<div class="notice" role="status"><dl class="facts">
<dt>Name</dt><dd>${key.name}</dd>
<dt>Owner</dt><dd><a href="${site.root}/console/users/${key.owner.id}">${key.owner.email}</a></dd>
<dt>Status</dt><dd>${STATES[key.state]}</dd>
<dt>Key ID</dt><dd class="mono">${key.keyId}</dd>
</dl></div>`
  }

  function table(title: string, keys: readonly OwnedApiKey[]) {
    const now = site.now()
    return {
      title,
      heads: ['API key', 'Owner', 'Status', 'Created', 'Expires', 'Last used'],
      rows: keys.map((key) => [
        mainCell(shortText(key.name), keyPrefix(key), `${site.root}/console/users/${key.ownerId}#api-keys`),
        html`<a class="wrap" href="${site.root}/console/users/${key.ownerId}">${shortText(key.ownerEmail)}</a>`,
        keyBadge(CONSOLE_TEXTS, key, now),
        ...keyTimes(CONSOLE_TEXTS, key, now),
      ]),
    }
  }

  function list(title: string, keys: readonly OwnedApiKey[], emptyTitle: string, emptyText: string): Html {
    return tableCard({
      ...table(title, keys),
      empty: emptyState(emptyTitle, emptyText),
      footer: keys.length < LIST_SIZE ? undefined : html`<footer class="hint">Only the first ${LIST_SIZE} are shown.</footer>`,
    })
  }
}
