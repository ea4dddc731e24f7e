import type { Server } from 'node:net'

/** The URL that links begin with. With PORT=0 and no BASE_URL it is complete once the service listens. */
export type PublicUrl = { get(): string; setPort(port: number): void }

const WITHOUT_PORT = 'http://localhost:0'

export function createPublicUrl(baseUrl: string): PublicUrl {
  let url = baseUrl
  return {
    get: () => url,
    setPort(port) {
      if (baseUrl === WITHOUT_PORT) url = `http://localhost:${port}`
    },
  }
}

/** The port that a server has bound; 0 before it listens. */
export function boundPort(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
