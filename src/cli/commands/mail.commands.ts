import type { Command } from 'commander'
import type { Database, Queries } from '../../storage/database.ts'
import {
  discardMail,
  findMail,
  listMailsAfter,
  type OutboxMail,
  retryMail,
} from '../../storage/repositories/outbox-inspection.repository.ts'
import { createPrinter, JSON_OPTION, print } from '../terminal/output.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { MAIL_FORMAT, mailState } from '../terminal/views.ts'
import { type BulkOptions, DRY_RUN_OPTION, runBulk } from './bulk.ts'
import { withServices } from './with-services.ts'

type ListOptions = { readonly json?: true; readonly failed?: true }
type Change = (db: Queries, id: number, now: number) => Promise<boolean>

const MAIL_HINT = 'the id of a mail from `mail list`'
const MAILS_HINT = 'the ids of mails from `mail list`, or - to read them from standard input'
const PAGE_SIZE = 500

export function mailCommands(program: Command): void {
  const mail = program.command('mail').description('look into the outbox: the mails that wait or could not be delivered')

  mail
    .command('list')
    .description('list the mails that wait and those that were given up, in order of id')
    .option('--failed', 'only those that were given up')
    .option(...JSON_OPTION)
    .action(listMails)

  mail
    .command('show')
    .description('show one mail, and why it was not delivered')
    .argument('<id>', MAIL_HINT)
    .option(...JSON_OPTION)
    .action(showMail)

  changeCommand(mail, 'retry', 'make mails due at once, as if they were asked for anew', retryMail)
  changeCommand(mail, 'discard', 'take mails out of the outbox, unsent', discardMail)
}

function changeCommand(parent: Command, name: string, description: string, change: Change): void {
  parent
    .command(name)
    .description(description)
    .argument('<ids...>', MAILS_HINT)
    .option(...DRY_RUN_OPTION)
    .option(...JSON_OPTION)
    .action((references: string[], options: BulkOptions) =>
      withServices((_, db) =>
        runBulk(db, references, options, {
          label: name,
          format: MAIL_FORMAT,
          apply: (used, reference) => changeMail(used, reference, change),
        }),
      ),
    )
}

/** Gives the mail as it is now or, where it is gone, as it was. */
async function changeMail(db: Database, reference: string, change: Change): Promise<OutboxMail> {
  const before = await requireMail(db, reference)
  if (!(await change(db, before.id, Date.now()))) throw new InvalidInput(['this mail is being sent at this moment; look again in a minute'])
  return (await findMail(db, before.id)) ?? before
}

async function listMails({ failed, json }: ListOptions): Promise<void> {
  await withServices((_, db) => createPrinter(MAIL_FORMAT, json === true).list(mailPages(db, failed === true)))
}

async function* mailPages(db: Queries, failedOnly: boolean): AsyncIterable<readonly OutboxMail[]> {
  for (let lastId = 0; ; ) {
    const page = await listMailsAfter(db, lastId, PAGE_SIZE)
    const wanted = failedOnly ? page.filter(({ failedAt }) => failedAt !== undefined) : page
    if (wanted.length > 0) yield wanted
    if (page.length < PAGE_SIZE) return
    lastId = page.at(-1)?.id ?? lastId
  }
}

async function showMail(reference: string, { json }: { readonly json?: true }): Promise<void> {
  await withServices(async (_, db) => {
    const mail = await requireMail(db, reference)
    if (json) return createPrinter(MAIL_FORMAT, true).one(mail)
    const iso = (time: number) => new Date(time).toISOString()
    print(`Mail        ${mail.id}, ${mail.kind}`)
    print(`To          ${mail.recipient}`)
    print(`State       ${mailState(mail)}`)
    print(`Asked for   ${iso(mail.requestedAt)}`)
    print(`Attempts    ${mail.attempts}`)
    print(mail.failedAt === undefined ? `Next try    ${iso(mail.dueAt)}` : `Given up    ${iso(mail.failedAt)}`)
    print(`Last error  ${mail.lastError ?? 'none'}`)
  })
}

async function requireMail(db: Queries, reference: string): Promise<OutboxMail> {
  if (!/^\d{1,15}$/.test(reference)) throw new InvalidInput(['ID: should be the id of a mail, as `mail list` shows it'])
  const mail = await findMail(db, Number(reference))
  if (mail === undefined) throw new InvalidInput(['there is no such mail in the outbox; it was delivered or discarded, or never there'])
  return mail
}
