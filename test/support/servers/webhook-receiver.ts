import { createServer, type IncomingHttpHeaders, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { text as readAll } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import {
  type AttemptOutcome,
  createWebhookDispatcher,
  type WebhookDispatcherParts,
} from '../../../src/delivery/webhooks/webhook.delivery.ts'
import type { WebhookEvent } from '../../../src/model/webhook.ts'
import { type Queries, statement } from '../../../src/storage/database.ts'
import { insertWebhook } from '../../../src/storage/repositories/webhooks/webhook.repository.ts'
import { until } from '../app/eventually.ts'
import { startApp, type TestApp } from '../app/start-app.ts'
import { type ContractContext, type DatabaseKind, freshDatabase } from '../databases/databases.ts'
import { listen } from './listen.ts'

export const WEBHOOK_SECRET = 'whsec_kL7aPz0nT2wVbXq5Jc8dRfYgHs3uMe1o'

export type ReceivedWebhook = {
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: { readonly type: string; readonly timestamp: string; readonly data: Readonly<Record<string, unknown>> }
}

export type Receiver = {
  readonly url: string
  readonly port: number
  /** The requests whose body has arrived, in this order. */
  readonly received: ReceivedWebhook[]
  /** The number of connections so far. */
  connections(): number
  /** Answers a request; 204 unless the test sets it. */
  answer: (response: ServerResponse, webhook: ReceivedWebhook) => void
  stop(): Promise<void>
}

type ReceiverOptions = { readonly port?: number; readonly tls?: { readonly key: string; readonly cert: string } }

/** A real HTTP or HTTPS server that records webhooks. */
export async function startReceiver(t: TestContext, { port = 0, tls }: ReceiverOptions = {}): Promise<Receiver> {
  let connections = 0
  const listener: RequestListener = (request, response) => void read(request).then((webhook) => accept(webhook, response))
  const server = tls ? createTlsServer(tls, listener) : createServer(listener)
  server.on('connection', () => connections++)
  const { port: bound, stop } = await listen(t, server, port)
  const receiver: Receiver = {
    url: tls ? `https://localhost:${bound}/hooks` : `http://127.0.0.1:${bound}/hooks?team=7`,
    port: bound,
    received: [],
    connections: () => connections,
    answer: (response) => void response.writeHead(204).end(),
    stop,
  }
  function accept(webhook: ReceivedWebhook, response: ServerResponse): void {
    receiver.received.push(webhook)
    receiver.answer(response, webhook)
  }
  return receiver
}

async function read(request: IncomingMessage): Promise<ReceivedWebhook> {
  const text = await readAll(request)
  return { headers: request.headers, text, body: JSON.parse(text) }
}

export function answering(status: number, headers: Readonly<Record<string, string>> = {}): Receiver['answer'] {
  return (response) => void response.writeHead(status, headers).end('ignored')
}

const ROWS = statement<{
  id: number
  message_id: string
  type: string
  user_id: number
  attempts: number
  due_at: number
  lease: string | null
  last_error: string | null
  failed_at: number | null
}>('select id, message_id, type, user_id, attempts, due_at, lease, last_error, failed_at from webhook_deliveries order by id')

export function webhookRows({ db }: Pick<TestApp, 'db'>) {
  return db.all(ROWS)
}

/** Queues a webhook, as a change does. */
export async function enqueueWebhook(db: Queries, event: WebhookEvent): Promise<void> {
  const { statement: insert, values } = insertWebhook(event)
  await db.run(insert, ...values)
}

export type WebhookApp = Awaited<ReturnType<typeof startWebhookApp>>

type WebhookAppOptions = { readonly env?: Readonly<Record<string, string>>; readonly dispatcher?: Partial<WebhookDispatcherParts> }

/** A service that sends webhooks to a receiver, when the test drains its dispatcher. */
export async function startWebhookApp(t: TestContext & { database?: DatabaseKind }, { env = {}, dispatcher = {} }: WebhookAppOptions = {}) {
  const receiver = await startReceiver(t)
  const testApp = await startApp(t, { env: { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET, ...env } })
  return { ...testApp, receiver, ...openWebhooks(t, testApp, dispatcher) }
}

/** A dispatcher on the database of the service, like that of another process. */
export function openWebhooks(t: TestContext, { db, config, clock }: TestApp, options: Partial<WebhookDispatcherParts> = {}) {
  /** The lines that the dispatcher logs. */
  const webhookLog: string[] = []
  const attempts: AttemptOutcome[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => void webhookLog.push(line) })
  if (config.webhook === undefined) throw new Error('the service has no WEBHOOK_URL')
  const webhooks = createWebhookDispatcher(config.webhook, {
    db,
    logger,
    now: clock.now,
    random: () => 0,
    onAttempt: (outcome) => void attempts.push(outcome),
    stopDeadlineMs: 0,
    ...options,
  })
  t.after(() => webhooks.stop())
  return { webhooks, webhookLog, attempts }
}

/** Waits until the receiver has so many webhooks. */
export async function untilReceived({ received }: Receiver, count: number, deadlineMs?: number): Promise<void> {
  await until(`${count} webhooks arrive`, () => received.length >= count, deadlineMs)
}

/** The settings of a service in its own process that sends webhooks to a receiver. */
export async function webhookSettings(t: ContractContext, receiver: Receiver): Promise<Record<string, string>> {
  const { setting } = await freshDatabase(t, t.database)
  return { DATABASE_URL: setting, WEBHOOK_URL: receiver.url, WEBHOOK_SECRET, LOG_LEVEL: 'trace', SMTP_URL: 'smtp://127.0.0.1:9' }
}
