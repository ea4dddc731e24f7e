import { once } from 'node:events'
import type { Server } from 'node:http'
import { Server as TcpServer } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

// An idle connection is closed if it sends no request within this time.
const LAST_ANSWER_MS = 1000
// The operating system queues at most this many connections for Node. Later ones are not waited for.
const MAX_BACKLOG = 511

/**
 * Stops accepting connections and closes the open ones gracefully: the next response of each has `Connection: close`. A connection
 * that looks idle may have a request in transit, which would be lost if the connection were closed at once.
 */
export async function drain(server: Server): Promise<void> {
  await acceptAll(server)
  const closed = once(server, 'close')
  // The close method of the HTTP server would also end idle connections.
  TcpServer.prototype.close.call(server)
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  await Promise.race([closed, sleep(LAST_ANSWER_MS, undefined, { ref: false })])
  // Reads requests that have arrived in the meantime, before the connections are closed.
  await nextTurn()
}

/** Accepts the connections that still wait in the queue of the operating system, one in each turn of the event loop. */
async function acceptAll(server: Server): Promise<void> {
  let quietTurns = 0
  const note = () => {
    quietTurns = 0
  }
  server.on('connection', note)
  // The first turn may be the rest of the current one, which accepts no connection.
  for (let turns = 0; quietTurns < 2 && turns < MAX_BACKLOG; turns++) {
    quietTurns++
    await nextTurn()
  }
  server.off('connection', note)
}
