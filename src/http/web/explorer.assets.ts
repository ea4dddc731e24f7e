import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Asset, createAsset, FOREVER } from './assets.ts'

/** A file of an explorer, at a path that names its version. */
export type ExplorerAsset = { readonly path: string; readonly asset: Asset }

export type ExplorerAssets = Readonly<
  Record<'swaggerScript' | 'swaggerStyle' | 'swaggerStart' | 'redocScript' | 'redocStart' | 'pageStyle' | 'icon', ExplorerAsset>
>

const JAVASCRIPT = 'text/javascript; charset=utf-8'
const CSS = 'text/css; charset=utf-8'
const SVG = 'image/svg+xml'

// A keyhole. Browsers ask for an icon, and would be refused the default one by the policy of the page.
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f5eff"/><path fill="#fff" d="M16 6a6 6 0 0 0-3 11.2L11 26h10l-2-8.8A6 6 0 0 0 16 6Z"/></svg>`

const PAGE_STYLE = `body { margin: 0 }
noscript { display: block; padding: 2rem; font: 1rem/1.5 system-ui, sans-serif }
`

// Redoc names its maker by a picture from their server. The name stays, the request does not.
const REMOTE_LOGO = /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(?:-full)?\.svg/g
const LOCAL_LOGO = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="14"><text y="11" font-family="sans-serif" font-size="11" fill="#4d7cff">Redocly</text></svg>',
)}`

/** The address that the page was opened at, whatever host or path a proxy gives it, is the one that is tried out. */
const SWAGGER_START = `const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
follow()
dark.addEventListener('change', follow)

const page = document.querySelector('#explorer')
const documentUrl = new URL(page.dataset.document, location.href)
const description = await (await fetch(documentUrl)).json()
description.servers = [{ url: new URL('..', documentUrl).href.replace(/\\/$/, '') }]
SwaggerUIBundle({
  spec: description,
  domNode: page,
  deepLinking: true,
  displayOperationId: false,
  displayRequestDuration: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  filter: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

/** Redoc reports its use to its maker unless it is told not to. Given a document instead of an address, it offers to send it to nobody. */
function redocStart(redocPath: string): string {
  return `import { init } from '../../../${redocPath}'
const page = document.querySelector('#explorer')
const description = await (await fetch(new URL(page.dataset.document, location.href))).json()
init(description, { disableTelemetry: true }, page)
`
}

export function createExplorerAssets(): ExplorerAssets {
  const redocScript = fromPackage('redoc', 'bundles/redoc.standalone.js', JAVASCRIPT, (text) => text.replace(REMOTE_LOGO, LOCAL_LOGO))
  return {
    swaggerScript: fromPackage('swagger-ui-dist', 'swagger-ui-bundle.js', JAVASCRIPT),
    swaggerStyle: fromPackage('swagger-ui-dist', 'swagger-ui.css', CSS),
    swaggerStart: fromText('swagger.js', SWAGGER_START, JAVASCRIPT),
    redocScript,
    redocStart: fromText('redoc.js', redocStart(redocScript.path), JAVASCRIPT),
    pageStyle: fromText('page.css', PAGE_STYLE, CSS),
    icon: fromText('icon.svg', ICON, SVG),
  }
}

function fromPackage(name: string, file: string, contentType: string, change = (text: string) => text): ExplorerAsset {
  const { version } = JSON.parse(readFileSync(locate(`${name}/package.json`), 'utf8')) as { version: string }
  const path = `assets/${name}-${version}/${file.replace(/^.*\//, '')}`
  return {
    path,
    asset: createAsset(contentType, FOREVER, async () => Buffer.from(change(await readFile(locate(`${name}/${file}`), 'utf8')))),
  }
}

function fromText(name: string, text: string, contentType: string): ExplorerAsset {
  const version = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return { path: `assets/${version}/${name}`, asset: createAsset(contentType, FOREVER, async () => Buffer.from(text)) }
}

/** Where a dependency lies is for Node to say: beside this file, above it, or where a packager has put it. */
function locate(specifier: string): string {
  return fileURLToPath(import.meta.resolve(specifier))
}
