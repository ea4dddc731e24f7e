import { createHash } from 'node:crypto'
import type { BrandColors, SchemeColors } from '../../shared/brand-colors.ts'
import { type Html, html, renderHtml } from '../../shared/html.ts'

const STYLE = html`
:root { color-scheme: light dark; --ground: #f4f5f7; --card: #fff; --ink: #1c2430; --quiet: #5b6675; --line: #c9d0da; --accent: #1f5eff; --bad: #b3261e; --good: #17713a }
@media (prefers-color-scheme: dark) { :root { --ground: #12161c; --card: #1b212a; --ink: #e8ecf2; --quiet: #9aa6b5; --line: #3a4452; --accent: #7aa2ff; --bad: #ff8a80; --good: #6fd896 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.25rem; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
main { width: 100%; max-width: 26rem; padding: 2rem; background: var(--card); border-radius: 0.75rem; box-shadow: 0 1px 3px rgb(0 0 0 / 12%), 0 8px 24px rgb(0 0 0 / 8%) }
.brand img { max-width: 60%; vertical-align: middle }
.brand { margin: 0 0 1.5rem; color: var(--quiet); font-weight: 600; overflow-wrap: anywhere }
h1 { margin: 0 0 1rem; font-size: 1.375rem; line-height: 1.3 }
p { margin: 0 0 1rem }
main > :last-child { margin-bottom: 0 }
label { display: block; margin: 1.25rem 0 0.375rem; font-weight: 600 }
input { width: 100%; padding: 0.625rem 0.75rem; border: 1px solid var(--line); border-radius: 0.5rem; background: transparent; color: inherit; font: inherit }
.hint { margin: 0.5rem 0 0; color: var(--quiet); font-size: 0.875rem }
ul.links { margin: 0 0 1.5rem; padding: 0; list-style: none }
ul.links li { margin: 0 0 0.875rem }
ul.links a { font-weight: 600 }
button { width: 100%; margin-top: 1.5rem; padding: 0.75rem; border: 0; border-radius: 0.5rem; background: var(--accent); color: var(--card); font: inherit; font-weight: 600; cursor: pointer }
a { color: var(--accent) }
:is(input, button, a):focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.bad, .good { padding-left: 0.75rem; border-left: 4px solid }
.bad { color: var(--bad) }
.good { color: var(--good) }
`

/** The name of the service, and its colours and logo where the settings have them. */
export type PageBrand = {
  readonly title: string
  readonly colors?: BrandColors | undefined
  /** The address of the logo. */
  readonly logo?: string | undefined
}

type Headers = Readonly<Record<string, string>>

const headersOfBrand = new WeakMap<PageBrand, Headers>()
const headersOfPage = new WeakMap<Html, Headers>()

/** The headers of a page that `htmlPage` has made. */
export function pageHeaders(page: Html): Headers {
  return headersOfPage.get(page) ?? {}
}

/** No scripts, no frames, no other hosts. The only style sheet is allowed by its hash. */
function brandHeaders({ colors, logo }: PageBrand): Headers {
  const hash = createHash('sha256')
    .update(renderHtml(styleOf(colors)))
    .digest('base64')
  const images = logo === undefined ? '' : "; img-src 'self'"
  return {
    'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'${images}; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  }
}

function styleOf(colors: BrandColors | undefined): Html {
  if (colors === undefined) return STYLE
  const variables = ({ fill, onFill, text }: SchemeColors) =>
    html`:root { --accent: ${text} } button { background: ${fill}; color: ${onFill} }`
  return html`${STYLE}${variables(colors.light)}\n@media (prefers-color-scheme: dark) { ${variables(colors.dark)} }\n`
}

/** A whole page around its content. */
export function htmlPage(brand: PageBrand, title: string, content: Html): Html {
  const headers = headersOfBrand.get(brand) ?? brandHeaders(brand)
  headersOfBrand.set(brand, headers)
  const page = wholePage(brand, title, content)
  headersOfPage.set(page, headers)
  return page
}

function wholePage(brand: PageBrand, title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · ${brand.title}</title>
<style>${styleOf(brand.colors)}</style>
</head>
<body>
<main>
<p class="brand">${brand.logo && html`<img src="${brand.logo}" alt="" height="28"> `}${brand.title}</p>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`
}
