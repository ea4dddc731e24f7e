import type { Config } from '../config/load.ts'
import { mailFolder } from '../delivery/mail/open-transport.ts'
import { COMMAND } from '../shared/command.ts'
import { printable } from '../shared/printable.ts'

export type WelcomeDetails = {
  readonly listeningUrl: string
  readonly baseUrl: string
  readonly hasAdmin: boolean
  /** For the form that creates the first admin, where it exists. */
  readonly firstAdminToken: string | undefined
  /** For programs that read the kept mails. */
  readonly devMailToken: string | undefined
}

/** What an operator needs to know after the start. */
export function welcome(config: Config, { listeningUrl, baseUrl, hasAdmin, firstAdminToken, devMailToken }: WelcomeDetails): string {
  const database = config.database.kind === 'sqlite' ? config.database.file : 'PostgreSQL'
  const mail = config.smtpUrl === undefined ? `written to ${mailFolder(config.database)}, and their links printed here` : 'sent by SMTP'
  const forProduction = productionHints(config)
  return [
    '',
    `  ${config.apiTitle} listens on ${listeningUrl}`,
    '',
    ...(config.consoleEnabled ? [`  Console        ${baseUrl}/console/`] : []),
    `  API explorer   ${baseUrl}/docs`,
    `  Database       ${database}`,
    `  Mails          ${mail}`,
    ...(devMailToken === undefined ? [] : [`  or as JSON     ${listeningUrl}/dev/mail?token=${encodeURIComponent(devMailToken)}`]),
    ...(config.admin === undefined ? [] : [`  Admin          ${config.admin.email}`]),
    ...(hasAdmin ? [] : [`  First admin    ${COMMAND} user create --admin --email you@example.com --first-name You --last-name Admin`]),
    ...(firstAdminToken === undefined ? [] : [`  or open        ${baseUrl}/console/first-admin?token=${firstAdminToken}`]),
    ...(forProduction.length > 0
      ? ['', '  Set these before you expose it to the internet:', ...forProduction.map((line) => `    ${line}`)]
      : []),
    '',
    '',
  ]
    .map(printable)
    .join('\n')
}

function productionHints(config: Config): string[] {
  const hints: string[] = []
  if (/^http:\/\/(?:localhost|127\.)/.test(config.baseUrl)) hints.push('BASE_URL      the public https:// address, for the links in mails')
  if (config.smtpUrl === undefined) hints.push('SMTP_URL      smtp://user:password@host:587, and MAIL_FROM')
  if (config.secretKey === undefined) hints.push(`SECRET_KEY    from \`${COMMAND} secret generate\`, when more than one machine serves`)
  if (config.database.kind === 'sqlite') hints.push('DATABASE_URL  postgres://…, when one machine is not enough')
  if (config.corsOrigins === '*') hints.push('CORS_ORIGINS  the origins of your web pages')
  return hints
}
