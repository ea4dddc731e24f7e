import type { Command } from 'commander'
import { createMailAdministration, type MailAdministration } from '../../domain/mail-administration.service.ts'
import type { OutboxMail } from '../../model/mail.ts'
import type { Database } from '../../storage/database.ts'
import { type BulkOptions, type Change, runBulk, type Subject } from '../bulk/bulk.ts'
import { DRY_RUN_OPTION } from '../bulk/rehearsal.ts'
import { YES_OPTION } from '../terminal/confirm.ts'
import { createPrinter, JSON_OPTION, print } from '../terminal/output.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { printable } from '../terminal/text.ts'
import { MAIL_FORMAT, mailLabel, mailState } from '../terminal/views.ts'
import { OPERATOR, partsOf, withDatabase } from '../with-database.ts'

type ListOptions = { readonly json?: true; readonly failed?: true }
type MailChange = Omit<Change<OutboxMail>, 'apply'> & {
  readonly description: string
  /** False if the mail is being sent. */
  run(mails: MailAdministration, mailId: number): Promise<boolean>
}

const MAIL_HINT = 'the id of a mail, as `mail list` shows it'
const MAILS_HINT = 'the ids of mails, as `mail list` shows them, or - to read them from standard input, one per line'

const CHANGES: readonly MailChange[] = [
  {
    name: 'retry',
    description: 'send mails again now, with all their attempts',
    phrase: ['make', 'made', ' due now'],
    run: (mails, mailId) => mails.retry(OPERATOR, mailId),
  },
  {
    name: 'discard',
    description: 'delete mails from the outbox without sending them',
    phrase: ['discard', 'discarded'],
    deletion: '',
    run: (mails, mailId) => mails.discard(OPERATOR, mailId),
  },
]

const MAILS: Subject<OutboxMail> = {
  plural: 'mails',
  find: (db, reference) => requireMail(mailsOf(db), reference),
  id: ({ id }) => id,
  label: mailLabel,
  json: MAIL_FORMAT.json,
}

export function mailCommands(program: Command): void {
  const mail = program.command('mail').description('manage the outbox: mails that are pending or could not be delivered')

  mail
    .command('list')
    .description('list pending and failed mails in order of id')
    .option('--failed', 'failed mails only')
    .option(...JSON_OPTION)
    .action(listMails)

  mail
    .command('show')
    .description('show a mail, and why it was not delivered')
    .argument('<id>', MAIL_HINT)
    .option(...JSON_OPTION)
    .action(showMail)

  for (const change of CHANGES) changeCommand(mail, change)
}

function changeCommand(parent: Command, change: MailChange): void {
  const command = parent
    .command(change.name)
    .description(change.description)
    .argument('<ids...>', MAILS_HINT)
    .option(...DRY_RUN_OPTION)
    .option(...JSON_OPTION)
    .action((references: string[], options: BulkOptions) =>
      withDatabase((db) => runBulk(db, references, options, MAILS, { ...change, apply: (used, mail) => apply(used, mail, change) })),
    )
  if (change.deletion !== undefined) command.option(...YES_OPTION)
}

async function apply(db: Database, { id }: OutboxMail, change: MailChange): Promise<OutboxMail | undefined> {
  const mails = mailsOf(db)
  if (!(await change.run(mails, id))) {
    await requireMail(mails, String(id))
    throw new InvalidInput(['this mail is being sent right now; try again in a minute'])
  }
  return change.deletion === undefined ? mails.find(id) : undefined
}

async function listMails({ failed, json }: ListOptions): Promise<void> {
  await withDatabase((db) => createPrinter(MAIL_FORMAT, json === true).list(mailsOf(db).list({ failedOnly: failed === true })))
}

async function showMail(reference: string, { json }: { readonly json?: true }): Promise<void> {
  await withDatabase(async (db) => {
    const mail = await requireMail(mailsOf(db), reference)
    if (json) return createPrinter(MAIL_FORMAT, true).one(mail)
    const iso = (time: number) => new Date(time).toISOString()
    print(`Mail        ${mail.id}, ${mail.kind}`)
    print(`To          ${printable(mail.recipient)}`)
    print(`State       ${mailState(mail)}`)
    print(`Requested   ${iso(mail.requestedAt)}`)
    print(`Attempts    ${mail.attempts}`)
    print(mail.failedAt === undefined ? `Next try    ${iso(mail.dueAt)}` : `Given up    ${iso(mail.failedAt)}`)
    print(`Last error  ${printable(mail.lastError ?? 'none')}`)
  })
}

async function requireMail(mails: MailAdministration, reference: string): Promise<OutboxMail> {
  if (!/^\d{1,15}$/.test(reference)) throw new InvalidInput(['ID: should be the id of a mail, as `mail list` shows it'])
  const mail = await mails.find(Number(reference))
  if (mail === undefined) throw new InvalidInput(['there is no such mail in the outbox; it may have been delivered or discarded'])
  return mail
}

function mailsOf(db: Database): MailAdministration {
  return createMailAdministration(partsOf(db))
}
