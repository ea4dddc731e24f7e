import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { CSS, createAsset, createTextAsset, FOREVER, ICON, JAVASCRIPT, SVG, type VersionedAsset } from '../site/assets.ts'

/** A package whose files browsers load, with the licences that every copy of them must carry. */
type ExplorerPackage = { readonly name: string; readonly files: readonly string[]; readonly licences: readonly string[] }

const SWAGGER_UI = {
  name: 'swagger-ui-dist',
  files: ['swagger-ui-bundle.js', 'swagger-ui.css'],
  licences: ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt'],
} as const satisfies ExplorerPackage

const REDOC = { name: 'redoc', files: ['bundles/redoc.standalone.js'], licences: ['LICENSE'] } as const satisfies ExplorerPackage

export const EXPLORER_PACKAGES: readonly ExplorerPackage[] = [SWAGGER_UI, REDOC]

const IS_BUILT = import.meta.url.endsWith('.js')

/** `npm run build` copies the files next to the built code. A clone reads them from its development dependencies. */
function locateExplorerFile(packageName: string, file: string): string {
  const url = IS_BUILT ? new URL(`explorers/${packageName}/${file}`, import.meta.url).href : import.meta.resolve(`${packageName}/${file}`)
  return fileURLToPath(url)
}

const PAGE_STYLE = `body { margin: 0 }
@media (max-width: 640px) { .swagger-ui .response-col_links { display: none } .swagger-ui .opblock-body { overflow-x: auto } }
noscript { display: block; padding: 2rem; font: 1rem/1.5 system-ui, sans-serif }
`

// Redoc loads a logo from the server of its vendor. A local image with the same name replaces it.
const REMOTE_LOGO = /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(?:-full)?\.svg/g
const LOCAL_LOGO = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="14"><text y="11" font-family="sans-serif" font-size="11" fill="#4d7cff">Redocly</text></svg>',
)}`

/** Requests go to the address that the page was opened at, whatever host or path a proxy adds. */
const SWAGGER_START = `const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
follow()
dark.addEventListener('change', follow)

const page = document.querySelector('#explorer')
const documentUrl = new URL(page.dataset.document, location.href)
const description = await (await fetch(documentUrl)).json()
description.servers = [{ url: new URL('./', documentUrl).href.replace(/\\/$/, '') }]
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

/** A page in a sandbox has no storage and no cookies: reading the properties throws. Redoc gets a storage that ends with the page. */
const STORAGE = `function memory() {
  const items = new Map()
  return {
    get length() { return items.size },
    key: (index) => [...items.keys()][index] ?? null,
    getItem: (name) => items.get(String(name)) ?? null,
    setItem: (name, value) => void items.set(String(name), String(value)),
    removeItem: (name) => void items.delete(String(name)),
    clear: () => items.clear(),
  }
}
for (const name of ['localStorage', 'sessionStorage']) {
  try { void window[name] } catch { Object.defineProperty(window, name, { value: memory() }) }
}
try { void document.cookie } catch { Object.defineProperty(document, 'cookie', { value: '', writable: true }) }
`

/** Without `disableTelemetry` Redoc reports its use to its vendor. Given a document instead of a URL, it shows no download link. */
function redocStart(redocPath: string): string {
  return `${STORAGE}const { init } = await import('../../${redocPath}')
const page = document.querySelector('#explorer')
const description = await (await fetch(new URL(page.dataset.document, location.href))).json()
init(description, { disableTelemetry: true }, page)
`
}

export function createExplorerAssets() {
  const redocScript = fromPackage(REDOC, 'bundles/redoc.standalone.js', JAVASCRIPT, (text) => text.replace(REMOTE_LOGO, LOCAL_LOGO))
  return {
    swaggerScript: fromPackage(SWAGGER_UI, 'swagger-ui-bundle.js', JAVASCRIPT),
    swaggerStyle: fromPackage(SWAGGER_UI, 'swagger-ui.css', CSS),
    swaggerStart: createTextAsset('swagger.js', SWAGGER_START, JAVASCRIPT),
    redocScript,
    redocStart: createTextAsset('redoc.js', redocStart(redocScript.path), JAVASCRIPT),
    pageStyle: createTextAsset('page.css', PAGE_STYLE, CSS),
    icon: createTextAsset('icon.svg', ICON, SVG),
  }
}

function fromPackage<Package extends ExplorerPackage>(
  { name }: Package,
  file: Package['files'][number],
  contentType: string,
  change = (text: string) => text,
): VersionedAsset {
  const { version } = JSON.parse(readFileSync(locateExplorerFile(name, 'package.json'), 'utf8')) as { version: string }
  const path = `assets/${name}-${version}/${file.replace(/^.*\//, '')}`
  const read = async () => Buffer.from(change(await readFile(locateExplorerFile(name, file), 'utf8')))
  return { path, asset: createAsset(contentType, FOREVER, read) }
}
