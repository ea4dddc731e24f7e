import cluster, { type Worker } from 'node:cluster'
import type { Snapshot } from '../../metrics/registry.ts'
import type { Message } from './workers.ts'

const GATHER_DEADLINE_MS = 1000

type Gathering = { readonly pending: Set<number>; readonly snapshots: Snapshot[]; done(): void }

/** Collects the metrics of all workers. A worker that does not answer in time, or dies, is left out. */
export function createGatherings() {
  const gatherings = new Map<string, Gathering>()

  function settle(gathering: Gathering, worker: Worker): void {
    gathering.pending.delete(worker.id)
    if (gathering.pending.size === 0) gathering.done()
  }

  return {
    async gather(id: string): Promise<Snapshot[]> {
      const workers = livingWorkers()
      const { promise: finished, resolve: done } = Promise.withResolvers<void>()
      const gathering = { pending: new Set(workers.map((worker) => worker.id)), snapshots: [], done }
      gatherings.set(id, gathering)
      for (const worker of workers) sendTo(worker, { type: 'request-snapshot', id })
      const deadline = setTimeout(done, GATHER_DEADLINE_MS)
      await finished
      clearTimeout(deadline)
      gatherings.delete(id)
      return gathering.snapshots
    },
    add(worker: Worker, id: string, snapshot: Snapshot): void {
      const gathering = gatherings.get(id)
      if (!gathering) return
      gathering.snapshots.push(snapshot)
      settle(gathering, worker)
    },
    remove(worker: Worker): void {
      for (const gathering of gatherings.values()) settle(gathering, worker)
    },
  }
}

/** A worker may die at any moment; a message to it is then lost. */
export function sendTo(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}

export function livingWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}
