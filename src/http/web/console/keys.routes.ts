import { UNUSED_DAYS } from '../../../domain/keys/key-use.ts'
import type { FoundKey, FoundKeyState } from '../../../domain/keys/leaked-keys.service.ts'
import type { OwnedApiKey } from '../../../model/api-key.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { badge, emptyState, keyBadge, keyPrefix, keyTimes, mainCell, tableCard } from '../site/elements/cards.ts'
import { shortText } from '../site/elements/format.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'

const LIST_SIZE = 20
const KEY_MAX_LENGTH = 200
const STATES: Readonly<Record<FoundKeyState, Html>> = {
  live: badge('good', 'Active'),
  disabled: badge('bad', 'Disabled'),
  expired: badge('warn', 'Expired'),
  suspended: badge('warn', 'Suspended with its owner'),
}

/** Whose key is this, and which keys should be cleaned up. */
export function consoleKeysRoutes({ get, post }: PageRoutes, { site, keyDirectory, leakedKeys }: PageParts): void {
  get('/keys', { handle: () => page(undefined) })

  // By POST, so that the key appears in no address, history or log.
  post('/keys', {
    asksForPassword: false,
    writes: false,
    fields: { key: { schema: Type.String({ trimmed: true, maxLength: KEY_MAX_LENGTH }) } },
    handle: async ({ body }) => page(found(await leakedKeys.find(body.key))),
  })

  async function page(result: Html | undefined): Promise<Page> {
    const [expired, unused] = await Promise.all([keyDirectory.expired(LIST_SIZE), keyDirectory.unused(LIST_SIZE)])
    const content = html`<section class="card" aria-labelledby="find"><h2 id="find">Whose key is this?</h2>
<form class="filters" method="post" action="${site.root}/console/keys">
<div class="field wide"><label for="key">API key</label><input id="key" name="key" type="text" autocomplete="off" spellcheck="false" maxlength="${KEY_MAX_LENGTH}" required aria-describedby="key-hint"></div>
<button class="primary">Find owner</button>
</form>
<p class="hint" id="key-hint">Paste a complete key, for example from a log or a leak. It is neither stored nor logged, and looking it up does not count as using it.</p>
${result}</section>
${list('Expired', expired, 'No expired keys', 'Keys appear here when they expire.')}
${list('Unused', unused, 'No unused keys', `Every active key was used or created in the last ${UNUSED_DAYS} days.`)}`
    return { title: 'API keys', content }
  }

  function found(key: FoundKey | undefined): Html {
    if (key === undefined)
      return html`<p class="notice" role="status">No key of this service has this secret. It may be mistyped, rotated or deleted.</p>`
    return html`<div class="notice" role="status"><dl class="facts">
<dt>Owner</dt><dd><a href="${site.root}/console/users/${key.owner.id}">${key.owner.email}</a></dd>
<dt>Status</dt><dd>${STATES[key.state]}</dd>
<dt>Key ID</dt><dd class="mono">${key.keyId}</dd>
</dl></div>`
  }

  function list(title: string, keys: readonly OwnedApiKey[], emptyTitle: string, emptyText: string): Html {
    const now = site.now()
    return tableCard({
      title,
      heads: ['API key', 'Owner', 'Status', 'Created', 'Expires', 'Last used'],
      rows: keys.map((key) => [
        mainCell(shortText(key.name), keyPrefix(key)),
        html`<a class="wrap" href="${site.root}/console/users/${key.ownerId}">${shortText(key.ownerEmail)}</a>`,
        keyBadge(key, now),
        ...keyTimes(key, now),
      ]),
      empty: emptyState(emptyTitle, emptyText),
      footer: keys.length < LIST_SIZE ? undefined : html`<footer class="hint">Only the first ${LIST_SIZE} are shown.</footer>`,
    })
  }
}
