import { once } from 'node:events'
import type { Server } from 'node:http'
import { Server as TcpServer } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

// A client with something to ask asks within this time, or finds its connection closed.
const LAST_ANSWER_MS = 1000

/**
 * Accepts no new connection, and lets those that stand come to an orderly end: each is told with its next answer that it is the
 * last. A connection that seems idle may have a request on its way; closing it at once would lose that.
 */
export async function drain(server: Server): Promise<void> {
  // On a busy machine clients may have connected whom nobody has accepted yet: they are, before nobody listens any more.
  await nextTurn()
  const closed = once(server, 'close')
  // The HTTP server's own close ends idle connections as well.
  TcpServer.prototype.close.call(server)
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  await Promise.race([closed, sleep(LAST_ANSWER_MS, undefined, { ref: false })])
  // What has arrived meanwhile may not have been read yet: it is, before anything is closed.
  await nextTurn()
}
