import { readFile } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { extname } from 'node:path'
import { createVerifier } from '@latchkey/client'
import { createApi } from './api.ts'

const PAGE_FILES = new URL('public/', import.meta.url)
// The browser loads the same files of the package as Node.js.
const CLIENT_FILES = new URL('.', import.meta.resolve('@latchkey/client'))
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}

/** The product: a page, and an API for it and for programs with a key. */
export function createProduct(latchkeyUrl: string): Server {
  const api = createApi(createVerifier({ url: latchkeyUrl }))

  async function sendFile(response: ServerResponse, file: URL): Promise<void> {
    const content = await readFile(file).catch(() => undefined)
    if (content === undefined) return void response.writeHead(404).end('Not found')
    response
      .writeHead(200, {
        'content-type': `${TYPES[extname(file.pathname)] ?? 'application/octet-stream'}; charset=utf-8`,
        'content-security-policy': `default-src 'self'; connect-src 'self' ${latchkeyUrl}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      })
      .end(content)
  }

  return createServer((request, response) => {
    // Anybody may send a URL that cannot be parsed.
    const { pathname = '/' } = URL.parse(request.url ?? '/', 'http://localhost') ?? {}
    const [, clientFile] = /^\/client\/((?:[\w-]+\/)*[\w-]+\.js)$/.exec(pathname) ?? []
    const [, pageFile] = /^\/(app\.js|forms\.js|style\.css|icon\.svg)$/.exec(pathname) ?? []
    if (pathname.startsWith('/api/notes')) return void api(request, response)
    if (pathname === '/settings')
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ latchkeyUrl }))
    if (clientFile !== undefined) return void sendFile(response, new URL(clientFile, CLIENT_FILES))
    void sendFile(response, new URL(pageFile ?? 'index.html', PAGE_FILES))
  })
}
