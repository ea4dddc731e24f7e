import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** A server behind a proxy that is ready, never answers `/hangs`, and closes the connection on `/breaks`. Returns its port. */
export async function startFailingUpstream(t: TestContext): Promise<number> {
  const server = createServer((request, response) => {
    if (request.url === '/hangs') return
    if (request.url === '/breaks') request.socket.destroy()
    else response.end()
  })
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A TCP server that listens has an address and a port.
  return (server.address() as AddressInfo).port
}
