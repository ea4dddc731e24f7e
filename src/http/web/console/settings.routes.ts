import { type Html, html } from '../../../shared/html.ts'
import { badge, emptyState, tableCard } from '../site/elements/cards.ts'
import type { PageParts, PageRoutes, SettingView } from '../site/page-parts.ts'

const EMPTY = emptyState('No settings', 'The service runs with its defaults.')

/** The settings that the service runs with. They come from the environment, so nothing can be changed here. */
export function consoleSettingsRoutes({ get }: PageRoutes, { settings }: PageParts): void {
  get('/settings', {
    handle() {
      const groups = [...Map.groupBy(settings, ({ group }) => group)]
      const content = html`<p class="quiet">Settings come from the environment of the service and from its <code>.env</code> file. Changes take effect after a restart. The documentation of all settings is <code>docs/settings.md</code>.</p>
${groups.map(([title, rows]) => tableCard({ title, heads: ['Setting', 'Value'], rows: rows.map((setting) => [named(setting), shownValue(setting)]), empty: EMPTY }))}`
      return { title: 'Settings', content }
    },
  })
}

function named({ name, meaning }: SettingView): Html {
  return html`<code class="main">${name}</code><span class="quiet">${explained(meaning)}</span>`
}

const PART = /`([^`]+)`|\[([^\]]+)\]\(([^)#]*)(#[^)]*)?\)/g

/** The meaning is one line of Markdown. A link becomes its text and the place in the documentation that it leads to. */
function explained(meaning: string): Html {
  let text = html``
  let from = 0
  for (const match of meaning.matchAll(PART)) {
    const [whole, code, label = '', file = '', anchor = ''] = match
    const place = html`${label.replaceAll('`', '')} (<code>docs/${file || 'settings.md'}${anchor}</code>)`
    text = html`${text}${meaning.slice(from, match.index)}${code === undefined ? place : html`<code>${code}</code>`}`
    from = match.index + whole.length
  }
  return html`${text}${meaning.slice(from)}`
}

function shownValue({ value, isSecret, isSet }: SettingView): Html {
  if (!isSet) return html`<span class="quiet">not set</span>`
  const shown = value === undefined ? undefined : html`<span class="mono wrap">${value}</span>`
  return isSecret ? html`${badge('', 'set')} ${shown}` : html`${shown}`
}
