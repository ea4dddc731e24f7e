import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { codeOf } from '../../../src/shared/errors.ts'

// Below the ports that systems choose for connections and for servers that listen on port 0.
const [FIRST_PORT, LAST_PORT] = [11_000, 30_000]

/** A port on which nothing listens, for a server that the test starts, or that stays closed. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1)
    const probe = createServer().listen(port, '127.0.0.1')
    try {
      await once(probe, 'listening')
      return port
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE') throw error
    } finally {
      probe.close()
    }
  }
}
