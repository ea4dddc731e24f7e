import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { listen } from './listen.ts'

/** `open` forwards everything, `blackhole` drops all data, `closed` rejects new connections and closes open ones. */
export type Passage = 'open' | 'blackhole' | 'closed'

export type BrokenProxy = Awaited<ReturnType<typeof startBrokenProxy>>
type Pair = { readonly client: Socket; readonly server: Socket }

// Time for the server to act on the forwarded text; its response is then lost.
const LOST_ANSWER_MS = 100

/** Starts a proxy to a TCP server whose connections can be broken. It stops when the test ends. */
export async function startBrokenProxy(t: TestContext, targetPort: number) {
  const pairs = new Set<Pair>()
  let passage: Passage = 'open'
  let delayMs = 0
  let cutting: { text: string; when: 'before' | 'after' } | undefined
  let cuts = 0

  const listener = createServer((client) => {
    if (passage === 'closed') return void client.resetAndDestroy()
    const server = connect(targetPort, '127.0.0.1')
    const pair = { client, server }
    pairs.add(pair)
    forward(client, server, (chunk) => isCut(chunk, pair))
    forward(server, client, () => false)
    for (const socket of [client, server]) {
      socket.on('error', () => undefined)
      socket.on('close', () => leave(pair))
    }
  })
  const { port } = await listen(t, listener)

  function forward(from: Socket, to: Socket, isCutHere: (chunk: Buffer) => boolean): void {
    from.on('data', (chunk: Buffer) => {
      if (passage === 'blackhole' || isCutHere(chunk)) return
      if (delayMs === 0) return void to.write(chunk)
      setTimeout(() => void to.write(chunk), delayMs)
    })
  }

  function isCut(chunk: Buffer, pair: Pair): boolean {
    if (cutting === undefined || !chunk.includes(cutting.text)) return false
    const { when } = cutting
    cutting = undefined
    cuts++
    if (when === 'before') return cut(pair)
    pair.server.removeAllListeners('data').resume()
    pair.server.write(chunk)
    setTimeout(() => cut(pair), LOST_ANSWER_MS)
    return true
  }

  function cut({ client, server }: Pair): true {
    client.resetAndDestroy()
    server.destroy()
    return true
  }

  /** Closes the other side too, unless the network drops everything. */
  function leave(pair: Pair): void {
    if (passage === 'blackhole') return
    pairs.delete(pair)
    pair.client.destroy()
    pair.server.destroy()
  }

  function cutAll(): void {
    for (const pair of pairs) cut(pair)
    pairs.clear()
  }

  t.after(() => {
    passage = 'closed'
    cutAll()
  })
  return {
    port,
    /** Applies to open and new connections. */
    set(next: Passage): void {
      passage = next
      if (next === 'closed') cutAll()
      // Close the other side of connections that ended meanwhile.
      if (next === 'open') for (const pair of pairs) if (pair.client.destroyed || pair.server.destroyed) leave(pair)
    },
    /** Delays all data by this time. */
    delay(ms: number): void {
      delayMs = ms
    },
    cutAll,
    /** Closes a connection when the client sends this text; `after` forwards the text to the server first. */
    cutAt(text: string, when: 'before' | 'after'): void {
      cutting = { text, when }
    },
    /** The number of connections closed by `cutAt`. */
    cuts: () => cuts,
  }
}
