import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'

export type ProductApi = {
  readonly url: string
  /** What it received, in order. */
  readonly received: { readonly method: string | undefined; readonly authorization: string | undefined; readonly body: string }[]
}

/** A service of a product. The test decides its statuses. */
export async function startProductApi(
  t: TestContext,
  statusOf: (request: IncomingMessage) => number | Promise<number>,
): Promise<ProductApi> {
  const received: ProductApi['received'] = []
  const server = createServer(async (request, response) => {
    received.push({ method: request.method, authorization: request.headers.authorization, body: await text(request) })
    response.writeHead(await statusOf(request)).end('of the product')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/notes`, received }
}
