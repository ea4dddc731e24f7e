import { readFileSync } from 'node:fs'
import { refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { Type } from '../../validation/schema.ts'
import { CSS, createTextAsset, JAVASCRIPT, SVG, sendAsset, type VersionedAsset } from '../assets.ts'
import { ICON } from '../explorer.assets.ts'

export type SiteAssets = Readonly<Record<'style' | 'script' | 'logo', VersionedAsset>>

const STYLES = ['base.css', 'layout.css', 'forms.css', 'tables.css', 'components.css']

/** One stylesheet and one script for all pages, each at a path with its hash. `npm run build` copies their sources next to the code. */
export function createSiteAssets(): SiteAssets {
  return {
    style: createTextAsset('site.css', withoutComments(STYLES.map(readSource).join('')), CSS),
    script: createTextAsset('site.js', readSource('site.js'), JAVASCRIPT),
    logo: createTextAsset('logo.svg', ICON, SVG),
  }
}

export function siteAssetRoutes(app: App, assets: SiteAssets): void {
  for (const { path, asset } of Object.values(assets)) {
    app.get(
      `/${path}`,
      { config: { access: 'public', writes: false }, schema: { hide: true, response: { 200: Type.Unknown(), ...refusals() } } },
      (request, reply) => sendAsset(request, reply, asset),
    )
  }
}

function readSource(name: string): string {
  return readFileSync(new URL(`../style/${name}`, import.meta.url), 'utf8')
}

function withoutComments(css: string): string {
  return css.replace(/\/\*.*?\*\//gs, '').replace(/\n\s*/g, '\n')
}
