import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { parseEmail } from '../../domain/values/email.ts'
import type { Operator } from '../../model/caller.ts'
import type { OutboxMail } from '../../model/mail.ts'
import type { OutboxWebhook } from '../../model/webhook.ts'
import type { Services } from '../../services.ts'
import { type BulkOptions, type BulkRun, bulkCommand, type Change, runBulk, SomeFailed, type Subject } from '../bulk.ts'
import { addCommand } from '../terminal/input.ts'
import { type Format, JSON_OPTION, type JsonOption, print, printJson, printList, printResult } from '../terminal/output.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { MAIL_FORMAT, MAIL_RECORD_FORMAT, WEBHOOK_FORMAT } from '../terminal/views.ts'
import { OPERATOR, readConfig, withServices } from '../with-services.ts'

export function mailCommands(program: Command): void {
  const group = outboxCommands<OutboxMail>(program, {
    noun: 'mail',
    listTo,
    description: 'manage the outbox: mails that are pending or could not be delivered',
    format: MAIL_FORMAT,
    administration: ({ mailAdministration }) => mailAdministration,
    label: ({ id, kind, recipient }) => `mail ${id} (${kind}, to ${recipient})`,
  })
  addCommand(group, 'test', 'send a test mail, and report the answer of the mail server', { '<address>': 'where it goes' })
    .option(...JSON_OPTION)
    .action(testMail)
}

const MAX_LISTED = 1000

/** What became of the mails to an address. */
async function listTo(address: string, options: ListOptions): Promise<void> {
  if (options.failed) throw new InvalidInput(['--to: lists every mail to the address; leave out --failed'])
  const mails = await withServices(({ mailAdministration }) => mailAdministration.history({ to: address, size: MAX_LISTED }))
  await printList(MAIL_RECORD_FORMAT, mails.length === 0 ? [] : [mails], options)
}

/** Sends directly, past the outbox: the answer is reported at once, and a failure is not retried. */
async function testMail(address: string, { json }: JsonOption): Promise<void> {
  const to = parseEmail(address)
  if (to === undefined) throw new InvalidInput(['ADDRESS: should be an e-mail address'])
  const requestedAt = Date.now()
  const result = await withServices(async ({ mailAdministration }, { config }) => {
    const { openTransport } = await import('../../delivery/mail/file.transport.ts')
    const { sendTestMail } = await import('../../delivery/mail/test-mail.ts')
    const transport = await openTransport(config, () => undefined)
    const sent = await sendTestMail(transport, config, to, '`latchkey mail test`').finally(() => transport.close())
    await mailAdministration.recordTest(OPERATOR, to, requestedAt, sent)
    return sent
  })
  const isAccepted = 'answer' in result
  if (json) printJson({ recipient: to, accepted: isAccepted, ...result })
  else if (isAccepted) print(`the test mail to ${to} was accepted: ${result.answer}`)
  if (isAccepted) return
  if (json) throw new SomeFailed()
  throw new InvalidInput([`the test mail was not accepted: ${result.error}`])
}

export function webhookCommands(program: Command): void {
  const group = outboxCommands<OutboxWebhook>(program, {
    noun: 'webhook',
    description: 'manage webhooks that are pending or could not be delivered',
    format: WEBHOOK_FORMAT,
    administration: ({ webhooks }) => webhooks,
    label: ({ id, type, userId }) => `webhook ${id} (${type}, user ${userId})`,
    retryWithoutIds: resume,
  })
  addCommand(group, 'test', 'send a test event to WEBHOOK_URL, and report the answer')
    .option(...JSON_OPTION)
    .action(test)
}

/** Ends the stop that a receiver caused by answering 410. */
async function resume({ services, rehearse, options }: BulkRun): Promise<void> {
  const { dryRun } = options
  const act = ({ webhooks }: Services) => webhooks.resume(OPERATOR)
  const isResumed = (dryRun ? await rehearse(act) : await act(services)) === true
  const done = dryRun ? 'would resume deliveries' : 'resumed deliveries'
  const line = isResumed ? done : 'deliveries are not stopped; name the ids of webhooks to send them again'
  printResult(options, { resumed: isResumed, ...(dryRun && { dry_run: true }) }, line)
}

type Answer = { readonly status: number } | { readonly error: string }

/** Sends directly, past the outbox: the answer is reported at once, and a failure is not retried. */
async function test({ json }: JsonOption): Promise<void> {
  const { webhook } = readConfig()
  if (webhook === undefined) throw new InvalidInput(['WEBHOOK_URL: is not set'])
  const { createWebhookTransport, writeWebhook } = await import('../../delivery/webhooks/webhook.transport.ts')
  const messageId = `msg_${randomUUID()}`
  const sentAt = Date.now()
  const message = writeWebhook({ messageId, type: 'webhook.test', occurredAt: sentAt }, webhook.secrets, sentAt)
  const transport = createWebhookTransport(webhook.url)
  const answer = await transport.post(message).then(
    (status): Answer => ({ status }),
    (error: Error): Answer => ({ error: error.message }),
  )
  await transport.close()
  const isAccepted = 'status' in answer && answer.status >= 200 && answer.status < 300
  if (json) printJson({ webhook_id: messageId, accepted: isAccepted, ...answer })
  else if (isAccepted) print(`the receiver accepted the test event ${messageId} with ${answer.status}, after ${Date.now() - sentAt} ms`)
  if (isAccepted) return
  if (json) throw new SomeFailed()
  throw new InvalidInput([`the receiver did not accept the test event: ${'status' in answer ? `answered ${answer.status}` : answer.error}`])
}

type Numbered = { readonly id: number }

/** An outbox that a group of commands manages: that of mails, or of webhooks. */
type Outbox<Entry extends Numbered> = {
  /** The name of the group and of one entry, such as `mail`. */
  readonly noun: string
  readonly description: string
  readonly format: Format<Entry> & { lines(entry: Entry): readonly string[] }
  administration(services: Services): OutboxAdministration<Entry>
  label(entry: Entry): string
  /** What `list --to` does. */
  readonly listTo?: (address: string, options: ListOptions) => Promise<void>
  /** What `retry` does without ids; without this, a missing id is an error. */
  readonly retryWithoutIds?: (run: BulkRun) => Promise<void>
}

type OutboxAdministration<Entry> = {
  list(options: { readonly failedOnly: boolean }): AsyncIterable<readonly Entry[]>
  find(id: number): Promise<Entry | undefined>
  /** False if the entry is being sent or is not in the outbox. */
  retry(operator: Operator, id: number): Promise<boolean>
  discard(operator: Operator, id: number): Promise<boolean>
}

type ListOptions = JsonOption & { readonly failed?: true; readonly to?: string }

/** Adds the commands `list`, `show`, `retry` and `discard`. */
function outboxCommands<Entry extends Numbered>(program: Command, outbox: Outbox<Entry>): Command {
  const { noun, format, administration } = outbox
  const group = addCommand(program, noun, outbox.description)
  const subject = subjectOf(outbox)
  const { listTo } = outbox
  const list = addCommand(group, 'list', `list pending and failed ${noun}s in order of id`)
    .option('--failed', `failed ${noun}s only`)
    .option(...JSON_OPTION)
    .action((options: ListOptions) =>
      listTo && options.to !== undefined
        ? listTo(options.to, options)
        : withServices((services) => printList(format, administration(services).list({ failedOnly: options.failed === true }), options)),
    )
  if (listTo) list.option('--to <address>', `what became of the ${noun}s to this address in the last 30 days, the newest first`)
  addCommand(group, 'show', `show a ${noun}, and why it was not delivered`, { '<id>': `the id of a ${noun}, as \`${noun} list\` shows it` })
    .option(...JSON_OPTION)
    .action(async (reference: string, options: JsonOption) => {
      const entry = await withServices((services) => subject.find(services, reference))
      printResult(options, format.json(entry), ...format.lines(entry))
    })

  for (const change of changesOf(outbox, subject)) {
    const withoutIds = change.name === 'retry' ? outbox.retryWithoutIds : undefined
    const hint = `the ids of ${noun}s, as \`${noun} list\` shows them, or - to read them from standard input, one per line`
    bulkCommand(group, change, { [withoutIds ? '[ids...]' : '<ids...>']: hint }).action((given: string[], options: BulkOptions) =>
      withServices((services, { rehearse }) => {
        const run = { services, rehearse, given, options }
        return given.length === 0 && withoutIds ? withoutIds(run) : runBulk(run, subject, change)
      }),
    )
  }
  return group
}

function changesOf<Entry extends Numbered>({ noun, administration }: Outbox<Entry>, subject: Subject<Entry>): Change<Entry>[] {
  const change =
    (method: 'retry' | 'discard') =>
    async (services: Services, { id }: Entry) => {
      if (await administration(services)[method](OPERATOR, id)) return
      await subject.find(services, String(id))
      throw new InvalidInput([`this ${noun} is being sent right now; try again in a minute`])
    }
  return [
    {
      name: 'retry',
      description: `send ${noun}s again now, with all their attempts`,
      phrase: ['make', 'made', ' due now'],
      apply: change('retry'),
    },
    {
      name: 'discard',
      description: `delete ${noun}s from the outbox without sending them`,
      phrase: ['discard', 'discarded'],
      deletion: '',
      apply: change('discard'),
    },
  ]
}

function subjectOf<Entry extends Numbered>({ noun, format, label, administration }: Outbox<Entry>): Subject<Entry> {
  return {
    plural: `${noun}s`,
    async find(services, reference) {
      if (!/^\d{1,15}$/.test(reference)) throw new InvalidInput([`ID: should be the id of a ${noun}, as \`${noun} list\` shows it`])
      const entry = await administration(services).find(Number(reference))
      if (entry === undefined) throw new InvalidInput([`there is no such ${noun} in the outbox; it may have been delivered or discarded`])
      return entry
    },
    reload: (services, { id }) => administration(services).find(id),
    id: ({ id }) => id,
    label,
    json: format.json,
  }
}
