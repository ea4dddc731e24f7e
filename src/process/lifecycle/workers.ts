import { randomUUID } from 'node:crypto'
import type { MetricsPeers } from '../../metrics/metrics.ts'
import type { Snapshot } from '../../metrics/registry.ts'
import type { Secrets } from '../../security/derived-keys.ts'
import { STOP_SIGNALS } from './signals.ts'

/** What the first process has read or generated at its start, and every worker gets from it. */
export type StartSecrets = {
  readonly secrets: Secrets
  /** The token of /console/first-admin, where there is no admin yet. */
  readonly firstAdminToken: string | undefined
  /** The token of /dev/mail, where it exists. */
  readonly devMailToken: string | undefined
}

export type Message =
  | { readonly type: 'stop' }
  | { readonly type: 'request-secrets' }
  | { readonly type: 'secrets'; readonly start: StartSecrets }
  | { readonly type: 'gather'; readonly id: string }
  | { readonly type: 'request-snapshot'; readonly id: string }
  | { readonly type: 'snapshot'; readonly id: string; readonly snapshot: Snapshot }
  | { readonly type: 'gathered'; readonly id: string; readonly snapshots: Snapshot[] }

/**
 * Asks the supervisor for the secrets that it has read at its start. A worker does not read them itself: after a rotation, a worker
 * that replaces another would sign tokens that the others refuse.
 */
export function requestSecrets(): Promise<StartSecrets> {
  const { promise, resolve } = Promise.withResolvers<StartSecrets>()
  function onMessage(message: Message): void {
    if (message.type !== 'secrets') return
    process.off('message', onMessage)
    resolve(message.start)
  }
  process.on('message', onMessage)
  send({ type: 'request-secrets' })
  return promise
}

/** Lets a worker expose the metrics of all workers: the supervisor collects their snapshots. */
export function createWorkerPeers(): MetricsPeers {
  const waiting = new Map<string, (snapshots: Snapshot[]) => void>()
  let ownSnapshot: () => Promise<Snapshot> = async () => []

  process.on('message', (message: Message) => {
    if (message.type === 'request-snapshot') void ownSnapshot().then((snapshot) => send({ type: 'snapshot', id: message.id, snapshot }))
    if (message.type === 'gathered') waiting.get(message.id)?.(message.snapshots)
  })

  return {
    provide(snapshot) {
      ownSnapshot = snapshot
    },
    async gather() {
      const id = randomUUID()
      const gathered = new Promise<Snapshot[]>((resolve) => waiting.set(id, resolve))
      send({ type: 'gather', id })
      const snapshots = await gathered
      waiting.delete(id)
      return snapshots
    },
  }
}

/**
 * Stops this worker when the supervisor says so or is gone. The supervisor handles the signals. Until `call` names what to stop, the
 * worker ends at once: it serves no request yet, and an early message would be lost.
 */
export function listenForStop(): { call(stop: () => void): void } {
  let isStopping = false
  let stop: () => void = () => process.exit(0)
  const stopOnce = () => {
    if (!isStopping) stop()
    isStopping = true
  }
  for (const signal of STOP_SIGNALS) process.on(signal, () => undefined)
  process.on('message', ({ type }: Message) => {
    if (type === 'stop') stopOnce()
  })
  process.on('disconnect', stopOnce)
  return {
    call(work) {
      stop = work
    },
  }
}

function send(message: Message): void {
  process.send?.(message)
}
