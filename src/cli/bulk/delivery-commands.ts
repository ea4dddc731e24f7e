import type { Command } from 'commander'
import type { Operator } from '../../model/caller.ts'
import type { Database } from '../../storage/database.ts'
import { YES_OPTION } from '../terminal/confirm.ts'
import { createJsonPrinter, createPrinter, type Format, JSON_OPTION, print } from '../terminal/output.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { OPERATOR, withDatabase } from '../with-database.ts'
import { type BulkOptions, type Change, runBulk, type Subject } from './bulk.ts'
import { DRY_RUN_OPTION } from './rehearsal.ts'

/** An outbox that a group of commands manages: that of mails, or of webhooks. */
export type Outbox<Entry extends { readonly id: number }> = {
  /** The name of the group and of one entry, such as `mail`. */
  readonly noun: string
  readonly description: string
  readonly format: Format<Entry>
  administration(db: Database): OutboxAdministration<Entry>
  label(entry: Entry): string
  /** The lines of `show`. */
  lines(entry: Entry): readonly string[]
  /** What `retry` does without ids; without this, a missing id is an error. */
  readonly retryWithoutIds?: (db: Database, options: BulkOptions) => Promise<void>
}

export type OutboxAdministration<Entry> = {
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
export function outboxCommands<Entry extends { readonly id: number }>(program: Command, outbox: Outbox<Entry>): Command {
  const { noun, description, format } = outbox
  const group = program.command(noun).description(description)
  group
    .command('list')
    .description(`list pending and failed ${noun}s in order of id`)
    .option('--failed', `failed ${noun}s only`)
    .option(...JSON_OPTION)
    .action(({ failed, json }: ListOptions) =>
      withDatabase((db) => createPrinter(format, json === true).list(outbox.administration(db).list({ failedOnly: failed === true }))),
    )
  group
    .command('show')
    .description(`show a ${noun}, and why it was not delivered`)
    .argument('<id>', `the id of a ${noun}, as \`${noun} list\` shows it`)
    .option(...JSON_OPTION)
    .action((reference: string, { json }: ListOptions) => withDatabase((db) => show(db, outbox, reference, json === true)))
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
    find: (db, reference) => requireEntry(db, outbox, reference),
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
    .action((references: string[], options: BulkOptions) =>
      withDatabase(async (db) => {
        if (references.length === 0 && withoutIds) return withoutIds(db, options)
        return runBulk(db, references, options, subject, { ...change, apply: (used, entry) => apply(used, outbox, entry, change) })
      }),
    )
  if (change.deletion !== undefined) command.option(...YES_OPTION)
}

async function apply<Entry extends { readonly id: number }>(
  db: Database,
  outbox: Outbox<Entry>,
  { id }: Entry,
  change: EntryChange<Entry>,
): Promise<Entry | undefined> {
  const entries = outbox.administration(db)
  if (!(await change.run(entries, id))) {
    await requireEntry(db, outbox, String(id))
    throw new InvalidInput([`this ${outbox.noun} is being sent right now; try again in a minute`])
  }
  return change.deletion === undefined ? entries.find(id) : undefined
}

async function show<Entry extends { readonly id: number }>(
  db: Database,
  outbox: Outbox<Entry>,
  reference: string,
  json: boolean,
): Promise<void> {
  const entry = await requireEntry(db, outbox, reference)
  if (json) return createJsonPrinter(outbox.format.json).one(entry)
  for (const line of outbox.lines(entry)) print(line)
}

async function requireEntry<Entry extends { readonly id: number }>(db: Database, outbox: Outbox<Entry>, reference: string): Promise<Entry> {
  const { noun } = outbox
  if (!/^\d{1,15}$/.test(reference)) throw new InvalidInput([`ID: should be the id of a ${noun}, as \`${noun} list\` shows it`])
  const entry = await outbox.administration(db).find(Number(reference))
  if (entry === undefined) throw new InvalidInput([`there is no such ${noun} in the outbox; it may have been delivered or discarded`])
  return entry
}
