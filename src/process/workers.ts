import cluster, { type Worker } from 'node:cluster'
import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { MetricsPeers } from '../metrics/metrics.ts'
import type { Snapshot } from '../metrics/registry.ts'

/** What the first process and its workers say to each other. */
type Message =
  | { readonly type: 'stop' }
  | { readonly type: 'gather'; readonly id: string }
  | { readonly type: 'tell'; readonly id: string }
  | { readonly type: 'told'; readonly id: string; readonly snapshot: Snapshot }
  | { readonly type: 'gathered'; readonly id: string; readonly snapshots: Snapshot[] }

const GATHER_DEADLINE_MS = 1000
const RESTART_PAUSE_MS = 1000
// A little more than what a worker gives to its own stop.
const STOP_DEADLINE_MS = 12_000
/** What ends the service in good order: the last is of a terminal that is closed. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** The metrics of a worker: the first process asks all of them on behalf of the one that was asked. */
export function createWorkerPeers(): MetricsPeers {
  const waiting = new Map<string, (snapshots: Snapshot[]) => void>()
  let ownSnapshot: () => Promise<Snapshot> = async () => []

  process.on('message', (message: Message) => {
    if (message.type === 'tell') void ownSnapshot().then((snapshot) => send({ type: 'told', id: message.id, snapshot }))
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
 * Stops this worker when the first process says so, or is gone. Signals are the first process's business. Until there is something
 * to stop the worker is ended at once: it serves nobody yet, and a word that came too early would be lost.
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

type HowEnded = { readonly isInOrder: boolean }

/** Runs so many workers, replaces those that die, and ends when all have stopped. `onListening` is told the port, once. */
export async function superviseWorkers(count: number, logger: Logger, onListening: (port: number) => void): Promise<HowEnded> {
  const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<HowEnded>()
  const startedAt = new Map<number, number>()
  const gatherings = createGatherings()
  let hasStarted = false
  let isStopping = false
  let isInOrder = true

  function fork(): void {
    if (!isStopping) startedAt.set(cluster.fork().id, performance.now())
  }

  function killAll(): void {
    for (const worker of livingWorkers()) worker.process.kill('SIGKILL')
  }

  function stop(): void {
    if (isStopping) {
      killAll()
      process.exit(1)
    }
    isStopping = true
    // Those that died may all be waiting to be replaced.
    if (livingWorkers().length === 0) end({ isInOrder })
    for (const worker of livingWorkers()) tell(worker, { type: 'stop' })
    setTimeout(() => {
      logger.error({ workers: livingWorkers().map((worker) => worker.process.pid) }, 'workers that did not stop are killed')
      isInOrder = false
      killAll()
    }, STOP_DEADLINE_MS)
  }

  cluster.on('listening', (_worker, { port }) => {
    if (hasStarted) return
    hasStarted = true
    // What is wrong with the settings has shown itself by now, and once only.
    for (let started = 1; started < count; started++) fork()
    onListening(port)
  })
  cluster.on('message', (worker, message: Message) => {
    if (message.type === 'told') gatherings.told(worker, message.id, message.snapshot)
    if (message.type !== 'gather') return
    void gatherings.gather(message.id).then((snapshots) => tell(worker, { type: 'gathered', id: message.id, snapshots }))
  })
  // What is sent to a worker that has died in the meantime ends here; its exit is told apart.
  cluster.on('fork', (worker) => worker.on('error', () => undefined))
  cluster.on('exit', (worker, exitCode, signal) => {
    gatherings.gone(worker)
    if (isStopping) return livingWorkers().length === 0 ? end({ isInOrder }) : undefined
    if (!hasStarted) return fail(new WorkerFailed())
    logger.error({ worker: worker.process.pid, exitCode, signal }, 'a worker has died and is replaced')
    const age = performance.now() - (startedAt.get(worker.id) ?? 0)
    startedAt.delete(worker.id)
    // One that dies as soon as it lives must not keep the machine busy with being born.
    setTimeout(fork, age > RESTART_PAUSE_MS ? 0 : RESTART_PAUSE_MS)
    return undefined
  })
  for (const signal of STOP_SIGNALS) process.on(signal, stop)
  fork()
  return ended
}

/** A worker could not start, and has said why. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed'
}

type Gathering = { readonly asked: Set<number>; readonly snapshots: Snapshot[]; done(): void }

/** Asks all workers for their metrics; one that does not answer in time, or dies, is left out. */
function createGatherings() {
  const gatherings = new Map<string, Gathering>()

  function leave(gathering: Gathering, worker: Worker): void {
    gathering.asked.delete(worker.id)
    if (gathering.asked.size === 0) gathering.done()
  }

  return {
    async gather(id: string): Promise<Snapshot[]> {
      const workers = livingWorkers()
      const { promise: finished, resolve: done } = Promise.withResolvers<void>()
      const gathering = { asked: new Set(workers.map((worker) => worker.id)), snapshots: [], done }
      gatherings.set(id, gathering)
      for (const worker of workers) tell(worker, { type: 'tell', id })
      const deadline = setTimeout(done, GATHER_DEADLINE_MS)
      await finished
      clearTimeout(deadline)
      gatherings.delete(id)
      return gathering.snapshots
    },
    told(worker: Worker, id: string, snapshot: Snapshot): void {
      const gathering = gatherings.get(id)
      if (!gathering) return
      gathering.snapshots.push(snapshot)
      leave(gathering, worker)
    },
    gone(worker: Worker): void {
      for (const gathering of gatherings.values()) leave(gathering, worker)
    },
  }
}

/** A worker may go at any moment; then nobody hears. */
function tell(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}

function livingWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}
