import { dirname, join } from 'node:path'
import type { Config } from '../../config/load.ts'
import { createFileTransport } from './file.transport.ts'
import type { MailTransport } from './transport.ts'

/** The mail server of SMTP_URL; without one, files in a folder next to the SQLite file. */
export async function openTransport({ smtpUrl, database }: Config, print: (line: string) => void): Promise<MailTransport> {
  if (smtpUrl === undefined) return createFileTransport(mailFolder(database), print)
  const { createSmtpTransport } = await import('./smtp.transport.ts')
  return createSmtpTransport(smtpUrl)
}

export function mailFolder(database: Config['database']): string {
  return join(database.kind === 'sqlite' ? dirname(database.file) : 'data', 'mail')
}
