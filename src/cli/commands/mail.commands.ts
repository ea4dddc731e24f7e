import type { Command } from 'commander'
import { createMailAdministration } from '../../domain/mail/mail-administration.service.ts'
import type { OutboxMail } from '../../model/mail.ts'
import { type Outbox, outboxCommands } from '../bulk/delivery-commands.ts'
import { MAIL_FORMAT, mailLabel, outboxState } from '../terminal/views.ts'
import { partsOf } from '../with-database.ts'

const MAILS: Outbox<OutboxMail> = {
  noun: 'mail',
  description: 'manage the outbox: mails that are pending or could not be delivered',
  format: MAIL_FORMAT,
  administration: (db) => createMailAdministration(partsOf(db)),
  label: mailLabel,
  lines: describeMail,
}

export function mailCommands(program: Command): void {
  outboxCommands(program, MAILS)
}

function describeMail(mail: OutboxMail): string[] {
  const iso = (time: number) => new Date(time).toISOString()
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
