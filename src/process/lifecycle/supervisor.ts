import cluster, { type Worker } from 'node:cluster'
import type { Snapshot } from '../../metrics/registry.ts'
import { within } from '../../shared/within.ts'
import { WorkerFailed } from '../startup-errors.ts'
import { exitNow, type ProcessLog } from './shutdown.ts'
import { type Launch, onStopSignals } from './signals.ts'
import type { Message, StartSecrets } from './workers.ts'

const RESTART_PAUSE_MS = 1000
// Slightly longer than the shutdown of a worker can take.
const STOP_DEADLINE_MS = 12_000

type Outcome = { readonly isInOrder: boolean }

/** Every worker has the secrets of the start, also one that replaces another after the settings or files have changed. */
type Workers = StartSecrets & {
  readonly count: number
  /** Called once, with the port. */
  onListening(port: number): void
}

/** Runs workers and replaces those that die. Resolves when all have stopped. */
export async function superviseWorkers(
  { count, onListening, ...start }: Workers,
  { logger, destination }: ProcessLog,
  launch: Launch,
): Promise<Outcome> {
  const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<Outcome>()
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
    isStopping = true
    // Every worker may have died and be waiting for its replacement.
    if (livingWorkers().length === 0) end({ isInOrder })
    for (const worker of livingWorkers()) sendTo(worker, { type: 'stop' })
    setTimeout(() => {
      logger.error({ workers: livingWorkers().map((worker) => worker.process.pid) }, 'workers that did not stop are killed')
      isInOrder = false
      killAll()
    }, STOP_DEADLINE_MS)
  }

  function onExit(worker: Worker, exitCode: number, signal: string): void {
    gatherings.remove(worker)
    if (isStopping) {
      if (livingWorkers().length === 0) end({ isInOrder })
      return
    }
    if (!hasStarted) {
      fail(new WorkerFailed())
      return
    }
    logger.error({ worker: worker.process.pid, exitCode, signal }, 'a worker has died and is replaced')
    const age = performance.now() - (startedAt.get(worker.id) ?? 0)
    startedAt.delete(worker.id)
    // A worker that dies right after its start must not keep the machine busy with restarts.
    setTimeout(fork, age > RESTART_PAUSE_MS ? 0 : RESTART_PAUSE_MS)
  }

  cluster.on('listening', (_worker, { port }) => {
    if (hasStarted) return
    hasStarted = true
    // The first worker has started, so the settings work. An error in them is therefore reported only once.
    for (let started = 1; started < count; started++) fork()
    onListening(port)
  })
  cluster.on('message', (worker, message: Message) => {
    if (message.type === 'snapshot') gatherings.add(worker, message.id, message.snapshot)
    if (message.type === 'request-secrets') sendTo(worker, { type: 'secrets', start })
    if (message.type !== 'gather') return
    void gatherings.gather(message.id).then((snapshots) => sendTo(worker, { type: 'gathered', id: message.id, snapshots }))
  })
  // A message to a worker that has just died fails here; its exit is handled separately.
  cluster.on('fork', (worker) => worker.on('error', () => undefined))
  cluster.on('exit', onExit)
  onStopSignals(launch, stop, () => {
    killAll()
    void exitNow(1, destination)
  })
  // Messages contain bytes, which JSON would turn into objects.
  cluster.setupPrimary({ serialization: 'advanced' })
  fork()
  return ended
}

const GATHER_DEADLINE_MS = 1000

type Gathering = { readonly pending: Set<number>; readonly snapshots: Snapshot[]; done(): void }

/** Collects the metrics of all workers. A worker that does not answer in time, or dies, is left out. */
function createGatherings() {
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
      await within(GATHER_DEADLINE_MS, finished, undefined)
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
function sendTo(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}

function livingWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}
