import { html } from '../../../shared/html.ts'
import { badge, emptyState, tableCard } from '../site/elements/cards.ts'
import type { PageParts, PageRoutes, SettingView } from '../site/page-parts.ts'

/** The settings that the service runs with. They come from the environment, so nothing can be changed here. */
export function consoleSettingsRoutes({ get }: PageRoutes, { settings }: PageParts): void {
  get('/settings', {
    handle() {
      const content = html`<p class="quiet">Settings come from the environment of the service and from its <code>.env</code> file. Changes take effect after a restart.</p>
${tableCard({
  title: 'Settings',
  hidesTitle: true,
  heads: ['Setting', 'Value'],
  rows: settings.map((setting) => [html`<code>${setting.name}</code>`, shownValue(setting)]),
  empty: emptyState('No settings', 'The service runs with its defaults.'),
})}`
      return { title: 'Settings', content }
    },
  })
}

function shownValue({ value, isSecret, isSet }: SettingView) {
  if (!isSet) return html`<span class="quiet">not set</span>`
  return isSecret ? badge('', 'set') : html`<span class="mono wrap">${value}</span>`
}
