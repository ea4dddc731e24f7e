import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Refusal } from '../../model/refusal.ts'
import { translate } from './connection.ts'
import type { ReadReply, ReadRequest, SqliteValue } from './reader.worker.ts'

export type ReaderThread = ReturnType<typeof createReaderThread>

type Job = {
  readonly request: ReadRequest
  readonly resolve: (rows: unknown[]) => void
  readonly reject: (error: unknown) => void
  readonly deadline: NodeJS.Timeout
}

// The thread runs from the sources and from the built package, where file names end differently.
const WORKER_FILE = new URL(`./reader.worker${extname(import.meta.url)}`, import.meta.url)

/**
 * Runs long reads on a separate thread, which starts when it is first needed, one statement after another. A statement that takes too long
 * is refused, and its thread is terminated and replaced: SQLite cannot be interrupted from outside.
 */
export function createReaderThread(file: string, deadlineMs: number) {
  const jobs: Job[] = []
  let running: Job | undefined
  let worker: Worker | undefined
  let terminated: Promise<unknown> = Promise.resolve()
  let isClosed = false

  function start(): Worker {
    const started = new Worker(WORKER_FILE, { workerData: file, execArgv: [], name: 'latchkey-reader' })
    started.on('message', (reply: ReadReply) => {
      if (worker !== started) return
      if ('rows' in reply) running?.resolve(reply.rows)
      else running?.reject(translate(Object.assign(new Error(reply.message), reply.codes)))
      finish(running)
    })
    started.on('error', (error) => lose(started, error))
    started.on('exit', () => lose(started, new Error('the thread has ended')))
    return started
  }

  function startNext(): void {
    if (running !== undefined) return
    running = jobs[0]
    if (running === undefined) {
      // An idle thread must not keep the process running.
      worker?.unref()
      return
    }
    worker ??= start()
    worker.ref()
    worker.postMessage(running.request)
  }

  /** Removes a statement that was answered or refused. */
  function finish(job: Job | undefined): void {
    if (job === undefined) return
    clearTimeout(job.deadline)
    jobs.splice(jobs.indexOf(job), 1)
    if (job === running) running = undefined
    startNext()
  }

  /** The thread ended by itself. The next statement gets a new thread. */
  function lose(lost: Worker, error: unknown): void {
    if (worker !== lost) return
    worker = undefined
    running?.reject(new Refusal('unavailable', `SQLite: the reading thread has ended: ${String(error)}`, { cause: error }))
    finish(running)
  }

  function abandonWorker(): void {
    const ended = worker?.terminate()
    terminated = terminated.then(() => ended)
    worker = undefined
  }

  function expire(job: Job): void {
    job.reject(new Refusal('unavailable', `SQLite: a long read took longer than ${deadlineMs} ms`))
    if (job === running) abandonWorker()
    finish(job)
  }

  return {
    async all(sql: string, values: readonly SqliteValue[]): Promise<unknown[]> {
      if (isClosed) throw closed()
      const { promise, resolve, reject } = Promise.withResolvers<unknown[]>()
      const job: Job = { request: { sql, values }, resolve, reject, deadline: setTimeout(() => expire(job), deadlineMs) }
      jobs.push(job)
      startNext()
      return promise
    },
    async close(): Promise<void> {
      isClosed = true
      abandonWorker()
      for (const { deadline, reject } of jobs.splice(0)) {
        clearTimeout(deadline)
        reject(closed())
      }
      await terminated
    },
  }
}

function closed(): Refusal {
  return new Refusal('unavailable', 'SQLite: the database is closed')
}
