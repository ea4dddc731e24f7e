import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { type Html, html, renderHtml } from '../../../shared/html.ts'
import { described, Empty, HtmlView } from '../../answers/replies.ts'
import { type DocumentOptions, describeApi } from '../../openapi/document.ts'
import type { App, Declared } from '../../pipeline/declarations.ts'
import { createApiRoutes } from '../../routes/api-routes.ts'
import { Type } from '../../validation/schema.ts'
import { type Asset, assetRoutes, createAsset, REVALIDATED, sendAsset, type VersionedAsset } from '../site/assets.ts'
import { createExplorerAssets } from './explorer.assets.ts'

type ExplorerPage = {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly title: string
  readonly styles: readonly VersionedAsset[]
  /** Scripts that define globals for the start script, which is a module and therefore runs last. */
  readonly libraries: readonly VersionedAsset[]
  readonly start: VersionedAsset
  /** Redoc creates style sheets with embedded fonts at run time, so their hashes cannot be listed in the policy. */
  readonly drawsOwnStyle: boolean
}

// Without `allow-same-origin`, the scripts of an explorer belong to no origin: their requests carry no cookie, and no page of this
// service lets them read it.
const SANDBOX = 'sandbox allow-scripts allow-forms allow-downloads allow-popups allow-popups-to-escape-sandbox'

/** Allows only files of this service: no inline scripts, no other hosts, no framing. */
function explorerHeaders({
  drawsOwnStyle,
  isIsolated,
}: {
  readonly drawsOwnStyle: boolean
  readonly isIsolated: boolean
}): Readonly<Record<string, string>> {
  const styles = drawsOwnStyle
    ? "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:"
    : "style-src 'self'; img-src 'self' data:"
  const policy = `default-src 'none'; script-src 'self'; ${styles}; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`
  return { 'content-security-policy': isIsolated ? `${policy}; ${SANDBOX}` : policy, 'cache-control': REVALIDATED }
}

/** `root` is the relative path from the page to the root of the service, because a proxy may serve it below any path. */
function explorerPage({ title, styles, libraries, start }: ExplorerPage, icon: VersionedAsset, root: './' | '../'): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${root}${icon.path}">
${styles.map(({ path }) => html`<link rel="stylesheet" href="${root}${path}">`)}
${libraries.map(({ path }) => html`<script defer src="${root}${path}"></script>`)}
<script type="module" src="${root}${start.path}"></script>
</head>
<body>
<div id="explorer" data-document="${root}openapi.json"></div>
<noscript>This page needs JavaScript. The same documentation, for programs: <a href="${root}openapi.json">openapi.json</a></noscript>
</body>
</html>
`
}

const DocumentView = Type.Unsafe<unknown>({ type: 'object', description: 'An OpenAPI 3.1 document.', examples: [{ openapi: '3.1.1' }] })

type ExplorerOptions = {
  readonly apiTitle: string
  /** Whether the explorers must not be able to use the cookie of the console and the account pages. */
  readonly isIsolated: boolean
}

/** What the document describes. `routes` is complete once the service starts. */
type Described = { readonly routes: readonly Declared[]; readonly about: () => DocumentOptions }

/** The OpenAPI document and the explorers. */
export function explorerRoutes(app: App, { apiTitle, isIsolated }: ExplorerOptions, { routes, about }: Described): void {
  const api = createApiRoutes(app, 'Service')
  const assets = createExplorerAssets()
  // The explorers also answer under /api/v1, and their files have relative addresses.
  assetRoutes(app, assets, { hasOneAddress: false })

  pageRoute('/docs', {
    operationId: 'swaggerUi',
    summary: 'Explore the API with Swagger UI',
    description: 'A page that describes every endpoint and sends requests to it.',
    title: `${apiTitle} · API explorer`,
    styles: [assets.pageStyle, assets.swaggerStyle],
    libraries: [assets.swaggerScript],
    start: assets.swaggerStart,
    drawsOwnStyle: false,
  })
  pageRoute('/redoc', {
    operationId: 'redoc',
    summary: 'Read about the API with Redoc',
    description: 'A page that describes every endpoint.',
    title: `${apiTitle} · API reference`,
    styles: [assets.pageStyle],
    libraries: [],
    start: assets.redocStart,
    drawsOwnStyle: true,
  })

  function pageRoute(url: string, page: ExplorerPage): void {
    const { operationId, summary, description, drawsOwnStyle } = page
    const headers = explorerHeaders({ drawsOwnStyle, isIsolated })
    const pageAt = (root: './' | '../') => renderHtml(explorerPage(page, assets.icon, root))
    const pages = { './': pageAt('./'), '../': pageAt('../') }
    api.get(url, operationId, {
      config: { access: 'public', writes: false, isStatic: true },
      summary,
      description,
      response: { 200: described(HtmlView, 'The explorer.') },
      handle: async (request, reply) => reply.headers(headers).type('text/html; charset=utf-8').send(pages[rootOf(request)]),
    })
  }

  // Written for the first client that requests it: most services have none, and every start would pay for it.
  let written: { readonly asset: Asset; readonly etag: string } | undefined
  function writeDocument() {
    const text = Buffer.from(JSON.stringify(describeApi(routes, about())))
    const etag = `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
    return { etag, asset: createAsset('application/json; charset=utf-8', REVALIDATED, async () => text) }
  }
  // The document contains the address of the service, whose port may only be known once the service listens.
  app.addHook('onListen', async () => {
    written = undefined
  })
  api.get('/openapi.json', 'openApi', {
    config: { access: 'public', writes: false, isStatic: true },
    summary: 'Get this description of the API',
    description: 'An OpenAPI 3.1 document, for tools that generate clients or documentation.',
    response: { 200: DocumentView, 304: Empty },
    handle: (request, reply) => {
      written ??= writeDocument()
      reply.header('etag', written.etag)
      if (request.headers['if-none-match'] !== written.etag) return sendAsset(request, reply, written.asset)
      return reply.code(304).header('cache-control', REVALIDATED).send()
    },
  })
}

/** The relative path from the page to the root. A trailing slash adds one level. */
function rootOf({ originalUrl }: FastifyRequest): './' | '../' {
  return /^[^?]*\/(?:\?|$)/.test(originalUrl) ? '../' : './'
}
