import { createHmac } from 'node:crypto'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isoTime } from '../../model/entity.ts'
import type { WebhookEvent } from '../../model/webhook.ts'
import { readVersion } from '../../shared/program.ts'

/** A request to the receiver, signed for the moment of its attempt. */
type WebhookMessage = { readonly headers: Readonly<Record<string, string>>; readonly body: string }

/** An event of the service, or the test event, which is about nobody. */
type SentEvent = Partial<Omit<WebhookEvent, 'type'>> &
  Pick<WebhookEvent, 'messageId' | 'occurredAt'> & { readonly type: WebhookEvent['type'] | 'webhook.test' }

/** Writes and signs an event as Standard Webhooks describes it, with one signature for each secret. */
export function writeWebhook(event: SentEvent, secrets: readonly Uint8Array[], sentAt: number): WebhookMessage {
  const body = bodyOf(event)
  const timestamp = Math.floor(sentAt / 1000)
  const signed = `${event.messageId}.${timestamp}.${body}`
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': event.messageId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': secrets.map((secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`).join(' '),
    },
  }
}

/** The same for every attempt. JSON leaves out ids that the event does not have. */
function bodyOf({ type, occurredAt, userId, keyId, sessionId }: SentEvent): string {
  const data = { user_id: userId, key_id: keyId, session_id: sessionId }
  return JSON.stringify({ type, timestamp: isoTime(occurredAt), data })
}

export type WebhookTransport = {
  /** Returns the status of the response. Throws a WebhookError if there is none in time. */
  post(message: WebhookMessage): Promise<number>
  /** Aborts the requests in progress, which then throw. */
  close(): Promise<void>
}

/** The receiver did not answer. The message is stored and logged: it contains neither the URL nor anything that the receiver wrote. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError'
}

// An import of node:http reads all its exports, and one of them loads the whole of fetch: 16 MB and 60 ms at every start.
const { Agent: HttpAgent, request: httpRequest } = process.getBuiltinModule('node:http')

const DEADLINE_MS = 15_000
// Many servers close idle connections after five seconds. Closing them sooner means that a request rarely meets a closed one.
const AGENT_OPTIONS = { keepAlive: true, maxSockets: 8, maxFreeSockets: 4, timeout: 4000 }
const MAX_BODY_BYTES = 64 * 1024
const CLOSED_BEFORE_USE = new Set(['ECONNRESET', 'EPIPE'])

/**
 * Sends requests to one URL with Node's own client: it follows no redirect, and with its own agent it uses no proxy of the environment.
 * The body of a response is ignored.
 */
export function createWebhookTransport(url: string, deadlineMs = DEADLINE_MS): WebhookTransport {
  const target = new URL(url)
  const isTls = target.protocol === 'https:'
  const agent = isTls ? new HttpsAgent(AGENT_OPTIONS) : new HttpAgent(AGENT_OPTIONS)
  const userAgent = `Latchkey/${readVersion()}`
  const running = new Set<ClientRequest>()

  function attempt({ headers, body }: WebhookMessage): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const request = (isTls ? httpsRequest : httpRequest)(target, {
      method: 'POST',
      agent,
      headers: { ...headers, 'user-agent': userAgent, 'content-length': Buffer.byteLength(body) },
    })
    const expired = new WebhookError(`no answer within ${deadlineMs / 1000} seconds`)
    const deadline = setTimeout(() => request.destroy(expired), deadlineMs)
    running.add(request)
    request.on('response', (response) => {
      resolve(response.statusCode ?? 0)
      ignoreBody(response)
    })
    request.on('error', (error) => reject(wasClosedBeforeUse(request, error) ? new StaleConnection() : toWebhookError(error)))
    request.on('close', () => {
      clearTimeout(deadline)
      running.delete(request)
      reject(new WebhookError('no answer: the connection was closed'))
    })
    request.end(body)
    return promise
  }

  /** The receiver may close a kept connection in the moment of its next use: the request is then sent again on another one. */
  async function post(message: WebhookMessage): Promise<number> {
    for (;;) {
      try {
        return await attempt(message)
      } catch (error) {
        if (!(error instanceof StaleConnection)) throw error
      }
    }
  }

  return {
    post,
    async close() {
      for (const request of running) request.destroy(new WebhookError('the attempt was aborted'))
      agent.destroy()
    },
  }
}

class StaleConnection extends Error {}

function wasClosedBeforeUse(request: ClientRequest, error: Error & { readonly code?: string }): boolean {
  return request.reusedSocket && CLOSED_BEFORE_USE.has(error.code ?? '')
}

/** A receiver that never ends its response is disconnected: by the deadline, or when it has sent too much. */
function ignoreBody(response: IncomingMessage): void {
  let bytes = 0
  response.on('error', () => undefined)
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) response.destroy()
  })
}

/** Messages of the system contain names and addresses of machines; their codes do not. */
function toWebhookError(error: Error & { readonly code?: string }): WebhookError {
  return error instanceof WebhookError ? error : new WebhookError(`no answer: ${error.code ?? 'unknown error'}`, { cause: error })
}
