import { pino } from 'pino'
import { createMailDispatcher, type MailDispatcherParts } from '../../../src/delivery/mail/mail.delivery.ts'
import { MailError, type MailMessage, type MailTransport } from '../../../src/delivery/mail/transport.ts'
import { statement } from '../../../src/storage/database.ts'
import { until } from '../app/eventually.ts'
import type { TestApp } from '../app/start-app.ts'

const OUTBOX = statement<{
  kind: string
  recipient: string
  revision: number
  attempts: number
  due_at: number
  lease: string | null
  last_error: string | null
  failed_at: number | null
}>('select kind, recipient, revision, attempts, due_at, lease, last_error, failed_at from outbox order by id')

export function outboxRows({ db }: TestApp) {
  return db.all(OUTBOX)
}

/** A transport whose deliveries the test completes. */
export function createHeldTransport() {
  const sent: MailMessage[] = []
  /** The running deliveries, oldest first. */
  const pending: { accept(): void; refuse(error: MailError): void }[] = []
  return {
    sent,
    pending,
    send(message: MailMessage): Promise<string> {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      const leave = () => pending.splice(pending.indexOf(held), 1)
      const held = {
        accept() {
          leave()
          sent.push(message)
          resolve('250 OK')
        },
        refuse(error: MailError) {
          leave()
          reject(error)
        },
      }
      pending.push(held)
      return promise
    },
    check: async () => undefined,
    async close() {
      for (const held of [...pending]) held.refuse(new MailError('server', 'closed'))
    },
    /** Resolves when that many deliveries are running. */
    untilPending: (count: number) => until(`${count} deliveries are running`, () => pending.length >= count),
  }
}

/** A transport that accepts or rejects a mail at once. */
export function createInstantTransport(): MailTransport & { readonly sent: MailMessage[]; error: MailError | undefined } {
  const sent: MailMessage[] = []
  const transport = {
    sent,
    error: undefined as MailError | undefined,
    async send(message: MailMessage) {
      if (transport.error) throw transport.error
      sent.push(message)
      return '250 OK'
    },
    async check() {
      if (transport.error) throw transport.error
    },
    close: async () => undefined,
  }
  return transport
}

/** A dispatcher beside the one of the mailbox, and the lines that it logs. */
export function openPostOffice(
  { db, services, config, clock }: TestApp,
  transport: MailTransport,
  options: Partial<MailDispatcherParts> = {},
) {
  const logged: string[] = []
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) })
  const parts = { db, tokens: services.tokens, transport, letterhead: () => config, now: clock.now, logger, ...options }
  return { dispatcher: createMailDispatcher(parts), logged }
}
