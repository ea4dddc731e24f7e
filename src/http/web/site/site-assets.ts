import { readFileSync } from 'node:fs'
import type { Brand } from '../../../shared/brand.ts'
import type { SchemeColors } from '../../../shared/brand-colors.ts'
import type { Logo } from '../../../shared/brand-logo.ts'
import { refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { Type } from '../../validation/schema.ts'
import { ICON } from '../explorer/explorer.assets.ts'
import { CSS, createTextAsset, JAVASCRIPT, SVG, sendAsset, type VersionedAsset } from './assets.ts'

export type SiteAssets = Readonly<Record<'style' | 'script' | 'logo', VersionedAsset>>

const STYLES = ['base.css', 'layout.css', 'forms.css', 'tables.css', 'components.css']

/** One stylesheet and one script for all pages, each at a path with its hash. `npm run build` copies their sources next to the code. */
export function createSiteAssets(brand: Brand): SiteAssets {
  return {
    style: createTextAsset('site.css', withoutComments(STYLES.map(readSource).join('')) + brandStyle(brand), CSS),
    script: createTextAsset('site.js', readSource('site.js'), JAVASCRIPT),
    logo: brand.logo === undefined ? createTextAsset('logo.svg', ICON, SVG) : logoAsset(brand.logo),
  }
}

export function siteAssetRoutes(app: App, assets: SiteAssets): void {
  for (const { path, asset } of Object.values(assets)) {
    app.get(
      `/${path}`,
      {
        config: { access: 'public', writes: false, hasOneAddress: true },
        schema: { hide: true, response: { 200: Type.Unknown(), ...refusals(404) } },
      },
      (request, reply) => sendAsset(request, reply, asset),
    )
  }
}

/** The brand colour in place of the built-in one. Hovering moves away from the colour of the text on it, so that it stays readable. */
function brandStyle({ colors }: Brand): string {
  if (colors === undefined) return ''
  const variables = ({ fill, onFill, text }: SchemeColors) => `:root{--brand:${fill};--on-brand:${onFill};--accent:${text}}`
  const hover = ({ fill, onFill }: SchemeColors) =>
    `button.primary:hover,.button.primary:hover{background:color-mix(in oklab,${fill} 88%,${onFill === '#ffffff' ? 'black' : 'white'})}`
  const dark = variables(colors.dark) + hover(colors.dark)
  return `${variables(colors.light)}${hover(colors.light)}@media (prefers-color-scheme:dark){${dark}}`
}

function logoAsset({ type, bytes }: Logo): VersionedAsset {
  return type === 'png' ? createTextAsset('logo.png', bytes, 'image/png') : createTextAsset('logo.svg', bytes, SVG)
}

function readSource(name: string): string {
  return readFileSync(new URL(`./style/${name}`, import.meta.url), 'utf8')
}

function withoutComments(css: string): string {
  return css.replace(/\/\*.*?\*\//gs, '').replace(/\n\s*/g, '\n')
}
