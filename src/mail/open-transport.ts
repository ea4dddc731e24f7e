import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import { createFileTransport } from './file.transport.ts'
import { createSmtpTransport } from './smtp.transport.ts'
import type { MailTransport } from './transport.ts'

/** A mail server where one is set; otherwise files, beside the SQLite file. */
export function openTransport({ smtpUrl, database }: Config, print: (line: string) => void): MailTransport {
  if (smtpUrl !== undefined) return createSmtpTransport(smtpUrl)
  return createFileTransport(mailFolder(database), print)
}

export function mailFolder(database: Config['database']): string {
  return join(database.kind === 'sqlite' ? dirname(database.file) : 'data', 'mail')
}
