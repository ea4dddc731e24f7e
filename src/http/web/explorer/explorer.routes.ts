import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { renderHtml } from '../../../shared/html.ts'
import { described, Empty, HtmlView, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { Type } from '../../validation/schema.ts'
import { type Asset, createAsset, REVALIDATED, sendAsset } from '../site/assets.ts'
import { createExplorerAssets } from './explorer.assets.ts'
import { type ExplorerPage, explorerHeaders, explorerPage } from './explorer.pages.ts'

const DocumentView = Type.Unsafe<unknown>({ type: 'object', description: 'An OpenAPI 3.1 document.', examples: [{ openapi: '3.1.1' }] })

export type ExplorerOptions = Pick<ExplorerPage, 'isIsolated'> & { readonly apiTitle: string }

/** The OpenAPI document and the explorers. `describe` is called when all routes are known. */
export function explorerRoutes(app: App, { apiTitle, isIsolated }: ExplorerOptions, describe: () => object): void {
  const assets = createExplorerAssets()
  for (const { path, asset } of Object.values(assets)) {
    app.get(
      `/${path}`,
      {
        config: { access: 'public', writes: false },
        schema: { hide: true, response: { 200: Type.Unknown(), ...refusals() } },
      },
      (request, reply) => sendAsset(request, reply, asset),
    )
  }

  pageRoute('/docs', 'swaggerUi', 'Explore the API with Swagger UI', 'A page that describes every endpoint and sends requests to it.', {
    title: `${apiTitle} · API explorer`,
    styles: [assets.pageStyle, assets.swaggerStyle],
    libraries: [assets.swaggerScript],
    start: assets.swaggerStart,
    icon: assets.icon,
    isIsolated,
    drawsOwnStyle: false,
  })
  pageRoute('/redoc', 'redoc', 'Read about the API with Redoc', 'A page that describes every endpoint.', {
    title: `${apiTitle} · API reference`,
    styles: [assets.pageStyle],
    libraries: [],
    start: assets.redocStart,
    icon: assets.icon,
    isIsolated,
    drawsOwnStyle: true,
  })

  function pageRoute(url: string, operationId: string, summary: string, description: string, page: ExplorerPage): void {
    const headers = explorerHeaders(page)
    const pages = { './': renderHtml(explorerPage(page, './')), '../': renderHtml(explorerPage(page, '../')) }
    app.get(
      url,
      {
        config: { access: 'public', writes: false },
        schema: {
          operationId,
          summary,
          description,
          tags: ['Service'],
          response: { 200: described(HtmlView, 'The explorer.'), ...refusals() },
        },
      },
      async (request, reply) => reply.headers(headers).type('text/html; charset=utf-8').send(pages[rootOf(request)]),
    )
  }

  let apiDocument: { readonly asset: Asset; readonly etag: string }
  async function writeDocument(): Promise<void> {
    const text = Buffer.from(JSON.stringify(describe()))
    const etag = `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
    apiDocument = { etag, asset: createAsset('application/json; charset=utf-8', REVALIDATED, async () => text) }
  }
  app.addHook('onReady', writeDocument)
  // The document contains the address of the service, whose port may only be known once the service listens.
  app.addHook('onListen', writeDocument)
  app.get(
    '/openapi.json',
    {
      config: { access: 'public', writes: false },
      schema: {
        operationId: 'openApi',
        summary: 'Get this description of the API',
        description: 'An OpenAPI 3.1 document, for tools that generate clients or documentation.',
        tags: ['Service'],
        response: { 200: DocumentView, 304: Empty, ...refusals() },
      },
    },
    (request, reply) => {
      reply.header('etag', apiDocument.etag)
      if (request.headers['if-none-match'] !== apiDocument.etag) return sendAsset(request, reply, apiDocument.asset)
      return reply.code(304).header('cache-control', REVALIDATED).send()
    },
  )
}

/** The relative path from the page to the root. A trailing slash adds one level. */
function rootOf({ originalUrl }: FastifyRequest): './' | '../' {
  return /^[^?]*\/(?:\?|$)/.test(originalUrl) ? '../' : './'
}
