import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { badge, emptyState, tableCard } from '../site/elements/cards.ts'
import type { PageParts, PageRoutes, SettingView } from '../site/page-parts.ts'
import { DOCS_FOLDER, inlineMarkdown, type LinkTo, markdown } from './documentation.ts'

const EMPTY = emptyState('No settings', 'The service runs with its defaults.')
const SETTINGS_DOCUMENT = 'settings.md'
/** The documents that settings lead to, and those that these lead to. */
const DOCUMENTS = [
  SETTINGS_DOCUMENT,
  'branding.md',
  'console.md',
  'integration.md',
  'operations.md',
  'providers.md',
  'running.md',
  'second-step.md',
  'upgrading.md',
  'webhooks.md',
]

/** The settings that the service runs with. They come from the environment, so nothing can be changed here. */
export function consoleSettingsRoutes({ get }: PageRoutes, { site, settings }: PageParts): void {
  const linkFrom =
    (current: string): LinkTo =>
    (file = current, anchor) =>
      DOCUMENTS.includes(file) ? `${site.root}/console/settings/docs/${file}${anchor}` : undefined

  get('/settings', {
    handle() {
      const linkTo = linkFrom(SETTINGS_DOCUMENT)
      const groups = [...Map.groupBy(settings, ({ group }) => group)]
      const content = html`<p class="quiet">Settings come from the environment of the service and from its <code>.env</code> file. Changes take effect after a restart. <a href="${linkTo(SETTINGS_DOCUMENT, '')}">All settings are documented</a>.</p>
${groups.map(([title, rows]) => tableCard({ title, heads: ['Setting', 'Value'], rows: rows.map((setting) => [named(setting, linkTo), shownValue(setting)]), empty: EMPTY }))}`
      return { title: 'Settings', content }
    },
  })

  get('/settings/docs/:document', {
    params: { document: Type.String({ maxLength: 50 }) },
    async handle({ params }) {
      if (!DOCUMENTS.includes(params.document)) return { to: '/console/settings' }
      const text = await readFile(join(DOCS_FOLDER, params.document), 'utf8')
      const { title, content } = markdown(text, linkFrom(params.document))
      return { title, content: html`<article class="card">${content}</article>`, back: { path: '/console/settings', text: 'Settings' } }
    },
  })
}

function named({ name, meaning }: SettingView, linkTo: LinkTo): Html {
  return html`<code class="main">${name}</code><span class="quiet">${inlineMarkdown(meaning, linkTo)}</span>`
}

function shownValue({ value, isSecret, isSet }: SettingView): Html {
  if (!isSet) return html`<span class="quiet">not set</span>`
  const shown = value === undefined ? undefined : html`<span class="mono wrap">${value}</span>`
  return isSecret ? html`${badge('', 'set')} ${shown}` : html`${shown}`
}
