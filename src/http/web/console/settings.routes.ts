import { html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/declarations.ts'
import { badge, emptyState, tableCard } from '../site/elements/tables.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'

/** A setting as admins see it. A secret has no value here, only whether it is set. */
export type SettingView = { readonly name: string; readonly value: string | undefined; readonly isSecret: boolean; readonly isSet: boolean }

export type ConsoleSettingsParts = PageParts & { readonly settings: readonly SettingView[] }

/** The settings that the service runs with. They come from the environment, so nothing can be changed here. */
export function consoleSettingsRoutes(app: App, { settings, ...parts }: ConsoleSettingsParts): void {
  const { get } = createPageRoutes(app, parts, 'console')

  get('/settings', {}, () => {
    const content = html`<p class="quiet">Settings come from the environment of the service and from its <code>.env</code> file. Changes take effect after a restart.</p>
${tableCard({
  title: 'Settings',
  hidesTitle: true,
  heads: ['Setting', 'Value'],
  rows: settings.map((setting) => [html`<code>${setting.name}</code>`, shownValue(setting)]),
  empty: emptyState('No settings', 'The service runs with its defaults.'),
})}`
    return { title: 'Settings', content }
  })
}

function shownValue({ value, isSecret, isSet }: SettingView) {
  if (!isSet) return html`<span class="quiet">not set</span>`
  return isSecret ? badge('', 'set') : html`<span class="mono wrap">${value}</span>`
}
