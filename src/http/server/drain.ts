import { once } from 'node:events'
import type { Server } from 'node:http'
import { Server as TcpServer } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

// A client with something to ask asks within this time, or finds its connection closed.
const LAST_ANSWER_MS = 1000
// So many the operating system lets wait for Node. Who comes while these are accepted may not have been sent here at all.
const MAX_BACKLOG = 511

/**
 * Accepts no new connection, and lets those that stand come to an orderly end: each is told with its next answer that it is the
 * last. A connection that seems idle may have a request on its way; closing it at once would lose that.
 */
export async function drain(server: Server): Promise<void> {
  await acceptAll(server)
  const closed = once(server, 'close')
  // The HTTP server's own close ends idle connections as well.
  TcpServer.prototype.close.call(server)
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  await Promise.race([closed, sleep(LAST_ANSWER_MS, undefined, { ref: false })])
  // What has arrived meanwhile may not have been read yet: it is, before anything is closed.
  await nextTurn()
}

/** On a busy machine clients may have connected whom nobody has accepted yet: they are, one in a turn, before nobody listens any more. */
async function acceptAll(server: Server): Promise<void> {
  let quietTurns = 0
  const note = () => {
    quietTurns = 0
  }
  server.on('connection', note)
  // The first turn may be the rest of this one, in which nobody is accepted.
  for (let turns = 0; quietTurns < 2 && turns < MAX_BACKLOG; turns++) {
    quietTurns++
    await nextTurn()
  }
  server.off('connection', note)
}
