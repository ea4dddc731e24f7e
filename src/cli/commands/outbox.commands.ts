import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { Operator } from '../../model/caller.ts'
import type { OutboxMail } from '../../model/mail.ts'
import type { OutboxWebhook } from '../../model/webhook.ts'
import type { Services } from '../../services.ts'
import { type BulkOptions, type BulkRun, type Change, runBulk, SomeFailed, type Subject } from '../bulk.ts'
import { YES_OPTION } from '../terminal/ask.ts'
import { createJsonPrinter, createPrinter, type Format, JSON_OPTION, print, printJson } from '../terminal/output.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { MAIL_FORMAT, mailLabel, outboxState, WEBHOOK_FORMAT, webhookLabel } from '../terminal/views.ts'
import { DRY_RUN_OPTION, OPERATOR, readConfig, withServices } from '../with-services.ts'

const MAILS: Outbox<OutboxMail> = {
  noun: 'mail',
  description: 'manage the outbox: mails that are pending or could not be delivered',
  format: MAIL_FORMAT,
  administration: ({ mailAdministration }) => mailAdministration,
  label: mailLabel,
  lines: describeMail,
}

export function mailCommands(program: Command): void {
  outboxCommands(program, MAILS)
}

function describeMail(mail: OutboxMail): string[] {
  return [
    `Mail        ${mail.id}, ${mail.kind}`,
    `To          ${mail.recipient}`,
    `State       ${outboxState(mail)}`,
    `Requested   ${iso(mail.requestedAt)}`,
    `Attempts    ${mail.attempts}`,
    mail.failedAt === undefined ? `Next try    ${iso(mail.dueAt)}` : `Given up    ${iso(mail.failedAt)}`,
    `Last error  ${mail.lastError ?? 'none'}`,
  ]
}

const WEBHOOKS: Outbox<OutboxWebhook> = {
  noun: 'webhook',
  description: 'manage webhooks that are pending or could not be delivered',
  format: WEBHOOK_FORMAT,
  administration: ({ webhooks }) => webhooks,
  label: webhookLabel,
  lines: describeWebhook,
  retryWithoutIds: resume,
}

export function webhookCommands(program: Command): void {
  outboxCommands(program, WEBHOOKS)
    .command('test')
    .description('send a test event to WEBHOOK_URL, and report the answer')
    .option(...JSON_OPTION)
    .action(test)
}

function describeWebhook(webhook: OutboxWebhook): string[] {
  return [
    `Webhook     ${webhook.id}, ${webhook.type}`,
    `webhook-id  ${webhook.messageId}`,
    `User        ${webhook.userId}`,
    ...(webhook.keyId === undefined ? [] : [`Key         ${webhook.keyId}`]),
    ...(webhook.sessionId === undefined ? [] : [`Session     ${webhook.sessionId}`]),
    `State       ${outboxState(webhook)}`,
    `Occurred    ${iso(webhook.occurredAt)}`,
    `Attempts    ${webhook.attempts}`,
    webhook.failedAt === undefined ? `Next try    ${iso(webhook.dueAt)}` : `Given up    ${iso(webhook.failedAt)}`,
    `Last error  ${webhook.lastError ?? 'none'}`,
  ]
}

/** Ends the stop that a receiver caused by answering 410. */
async function resume({ services, rehearse, options: { dryRun, json } }: BulkRun): Promise<void> {
  const act = ({ webhooks }: Services) => webhooks.resume(OPERATOR)
  const isResumed = (dryRun ? await rehearse(act) : await act(services)) === true
  if (json) return printJson({ resumed: isResumed, ...(dryRun && { dry_run: true }) })
  if (!isResumed) return print('deliveries are not stopped; name the ids of webhooks to send them again')
  print(dryRun ? 'would resume deliveries' : 'resumed deliveries')
}

type Answer = { readonly status: number } | { readonly error: string }

/** Sends directly, past the outbox: the answer is reported at once, and a failure is not retried. */
async function test({ json }: { readonly json?: true }): Promise<void> {
  const { webhook } = readConfig()
  if (webhook === undefined) throw new InvalidInput(['WEBHOOK_URL: is not set'])
  const { createWebhookTransport } = await import('../../delivery/webhooks/webhook.transport.ts')
  const { writeWebhook } = await import('../../delivery/webhooks/webhook.transport.ts')
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

const iso = (time: number) => new Date(time).toISOString()

/** An outbox that a group of commands manages: that of mails, or of webhooks. */
type Outbox<Entry extends { readonly id: number }> = {
  /** The name of the group and of one entry, such as `mail`. */
  readonly noun: string
  readonly description: string
  readonly format: Format<Entry>
  administration(services: Services): OutboxAdministration<Entry>
  label(entry: Entry): string
  /** The lines of `show`. */
  lines(entry: Entry): readonly string[]
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

type ListOptions = { readonly json?: true; readonly failed?: true }
type EntryChange<Entry> = Omit<Change<Entry>, 'apply'> & {
  readonly description: string
  run(entries: OutboxAdministration<Entry>, id: number): Promise<boolean>
}

/** Adds the commands `list`, `show`, `retry` and `discard`. */
function outboxCommands<Entry extends { readonly id: number }>(program: Command, outbox: Outbox<Entry>): Command {
  const { noun, description, format } = outbox
  const group = program.command(noun).description(description)
  group
    .command('list')
    .description(`list pending and failed ${noun}s in order of id`)
    .option('--failed', `failed ${noun}s only`)
    .option(...JSON_OPTION)
    .action(({ failed, json }: ListOptions) =>
      withServices((services) =>
        createPrinter(format, json === true).list(outbox.administration(services).list({ failedOnly: failed === true })),
      ),
    )
  group
    .command('show')
    .description(`show a ${noun}, and why it was not delivered`)
    .argument('<id>', `the id of a ${noun}, as \`${noun} list\` shows it`)
    .option(...JSON_OPTION)
    .action((reference: string, options: ListOptions) => withServices((services) => show(services, outbox, reference, options)))
  changeCommand(group, outbox, {
    name: 'retry',
    description: `send ${noun}s again now, with all their attempts`,
    phrase: ['make', 'made', ' due now'],
    run: (entries, id) => entries.retry(OPERATOR, id),
  })
  changeCommand(group, outbox, {
    name: 'discard',
    description: `delete ${noun}s from the outbox without sending them`,
    phrase: ['discard', 'discarded'],
    deletion: '',
    run: (entries, id) => entries.discard(OPERATOR, id),
  })
  return group
}

function changeCommand<Entry extends { readonly id: number }>(parent: Command, outbox: Outbox<Entry>, change: EntryChange<Entry>): void {
  const { noun, retryWithoutIds } = outbox
  const withoutIds = change.name === 'retry' ? retryWithoutIds : undefined
  const subject: Subject<Entry> = {
    plural: `${noun}s`,
    find: (services, reference) => requireEntry(services, outbox, reference),
    id: ({ id }) => id,
    label: outbox.label,
    json: outbox.format.json,
  }
  const command = parent
    .command(change.name)
    .description(change.description)
    .argument(
      withoutIds ? '[ids...]' : '<ids...>',
      `the ids of ${noun}s, as \`${noun} list\` shows them, or - to read them from standard input, one per line`,
    )
    .option(...DRY_RUN_OPTION)
    .option(...JSON_OPTION)
    .action((given: string[], options: BulkOptions) =>
      withServices(async (services, { rehearse }) => {
        const run = { services, rehearse, given, options }
        if (given.length === 0 && withoutIds) return withoutIds(run)
        return runBulk(run, subject, { ...change, apply: (used, entry) => apply(used, outbox, entry, change) })
      }),
    )
  if (change.deletion !== undefined) command.option(...YES_OPTION)
}

async function apply<Entry extends { readonly id: number }>(
  services: Services,
  outbox: Outbox<Entry>,
  { id }: Entry,
  change: EntryChange<Entry>,
): Promise<Entry | undefined> {
  const entries = outbox.administration(services)
  if (!(await change.run(entries, id))) {
    await requireEntry(services, outbox, String(id))
    throw new InvalidInput([`this ${outbox.noun} is being sent right now; try again in a minute`])
  }
  return change.deletion === undefined ? entries.find(id) : undefined
}

async function show<Entry extends { readonly id: number }>(
  services: Services,
  outbox: Outbox<Entry>,
  reference: string,
  { json }: ListOptions,
): Promise<void> {
  const entry = await requireEntry(services, outbox, reference)
  if (json) return createJsonPrinter(outbox.format.json).one(entry)
  for (const line of outbox.lines(entry)) print(line)
}

async function requireEntry<Entry extends { readonly id: number }>(
  services: Services,
  outbox: Outbox<Entry>,
  reference: string,
): Promise<Entry> {
  const { noun } = outbox
  if (!/^\d{1,15}$/.test(reference)) throw new InvalidInput([`ID: should be the id of a ${noun}, as \`${noun} list\` shows it`])
  const entry = await outbox.administration(services).find(Number(reference))
  if (entry === undefined) throw new InvalidInput([`there is no such ${noun} in the outbox; it may have been delivered or discarded`])
  return entry
}
