import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Refusal } from '../../model/refusal.ts'
import { translate } from './connection.ts'
import type { ReadReply, ReadRequest, SqliteValue } from './reader.worker.ts'

export type ReaderThread = {
  all(sql: string, values: readonly SqliteValue[]): Promise<unknown[]>
  close(): Promise<void>
}

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
export function createReaderThread(file: string, deadlineMs: number): ReaderThread {
  const waiting: Job[] = []
  const ending = new Set<Promise<unknown>>()
  let worker: Worker | undefined
  let current: Job | undefined
  let isClosed = false

  function start(): Worker {
    const started = new Worker(WORKER_FILE, { workerData: file, execArgv: [], name: 'latchkey-reader' })
    started.on('message', (reply: ReadReply) => {
      if (worker === started) finish(reply)
    })
    started.on('error', (error) => lose(started, error))
    started.on('exit', () => lose(started, new Error('the thread has ended')))
    return started
  }

  function startNext(): void {
    if (current !== undefined) return
    current = waiting.shift()
    if (current === undefined) {
      // An idle thread must not keep the process running.
      worker?.unref()
      return
    }
    worker ??= start()
    worker.ref()
    worker.postMessage(current.request)
  }

  function finish(reply: ReadReply): void {
    const job = current
    current = undefined
    if (job) {
      clearTimeout(job.deadline)
      if ('rows' in reply) job.resolve(reply.rows)
      else job.reject(translate(Object.assign(new Error(reply.message), reply.codes)))
    }
    startNext()
  }

  /** The thread ended while it ran a statement. The next statement gets a new thread. */
  function lose(lost: Worker, error: unknown): void {
    if (worker !== lost) return
    worker = undefined
    refuseCurrent(new Refusal('unavailable', `SQLite: the reading thread has ended: ${String(error)}`, { cause: error }))
    startNext()
  }

  function refuseCurrent(refusal: Refusal): void {
    if (current === undefined) return
    clearTimeout(current.deadline)
    current.reject(refusal)
    current = undefined
  }

  function abandonWorker(): void {
    if (worker === undefined) return
    const ended = worker.terminate()
    ending.add(ended)
    void ended.finally(() => ending.delete(ended))
    worker = undefined
  }

  function expire(job: Job): void {
    job.reject(new Refusal('unavailable', `SQLite: a long read took longer than ${deadlineMs} ms`))
    if (job !== current) {
      waiting.splice(waiting.indexOf(job), 1)
      return
    }
    current = undefined
    abandonWorker()
    startNext()
  }

  return {
    all: (sql, values) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(new Refusal('unavailable', 'SQLite: the database is closed'))
          return
        }
        const job: Job = { request: { sql, values }, resolve, reject, deadline: setTimeout(() => expire(job), deadlineMs) }
        waiting.push(job)
        startNext()
      }),
    async close() {
      isClosed = true
      const refusal = new Refusal('unavailable', 'SQLite: the database is closed')
      refuseCurrent(refusal)
      for (const job of waiting.splice(0)) {
        clearTimeout(job.deadline)
        job.reject(refusal)
      }
      abandonWorker()
      await Promise.all(ending)
    },
  }
}
