import type { Server } from 'node:net'
import type { Config } from '../config/load.ts'

/** The port that a server has really bound; 0 before it listens. */
export function boundPort(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** What links begin with. Where neither BASE_URL nor a port is set, that is known as soon as a port has been taken, and not before. */
export function servedUrl({ baseUrl }: Pick<Config, 'baseUrl'>, port: number): string {
  return baseUrl.replace(/^http:\/\/localhost:0$/, `http://localhost:${port}`)
}
