import cluster from 'node:cluster'
import type { Config } from '../config/load.ts'
import { weakSettings } from '../config/posture.ts'
import { mailFolder } from '../delivery/mail/file.transport.ts'
import { generateStartToken } from '../security/start-token.ts'
import { createPublicUrl, isLocalService } from '../shared/addresses.ts'
import { COMMAND } from '../shared/program.ts'
import { printable } from '../shared/text.ts'
import { exitAfterLog, exitNow, handleUncaughtErrors, type ProcessLog, type RunningService, stopService } from './lifecycle/shutdown.ts'
import { type Launch, onStopSignals } from './lifecycle/signals.ts'
import { superviseWorkers } from './lifecycle/supervisor.ts'
import { listenForStop, requestSecrets, type StartSecrets } from './lifecycle/workers.ts'
import { createLogDestination, createLogger } from './logger.ts'
import { openMigrated } from './open-database.ts'
import { prepare } from './prepare.ts'
import { serve } from './serve.ts'

/** Starts the service: migrations first, then listening. With several workers, this process supervises them. */
export async function startService(config: Config, launch: Launch): Promise<void> {
  // A closed stdout or stderr must not stop the service.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
  const destination = createLogDestination()
  const log: ProcessLog = { logger: createLogger(config.logLevel, destination), destination }
  if (cluster.isWorker) return startWorker(config, log)
  const { hasAdmin, secrets } = await prepare(config, log.logger)
  const firstAdminToken = !hasAdmin && config.consoleEnabled && isLocalService(config) ? generateStartToken() : undefined
  const hasDevMail = config.smtpUrl === undefined && isLocalService(config)
  const devMailToken = hasDevMail ? (config.devMailToken ?? generateStartToken()) : undefined
  const startSecrets: StartSecrets = { secrets, firstAdminToken, devMailToken }
  const greet = (port: number) => process.stdout.write(welcome(config, { ...startSecrets, port, hasAdmin }))
  if (config.workers > 1) {
    const { isInOrder } = await superviseWorkers({ ...startSecrets, count: config.workers, onListening: greet }, log, launch)
    return exitAfterLog(isInOrder ? 0 : 1, destination)
  }
  const service = await openAndServe(config, startSecrets, log)
  onStopSignals(
    launch,
    (reason) => void stopService(service, log, reason),
    () => void exitNow(1, destination),
  )
  greet(service.port)
}

async function startWorker(config: Config, log: ProcessLog): Promise<void> {
  const stopping = listenForStop()
  try {
    const service = await openAndServe(config, await requestSecrets(), log)
    stopping.call(() => void stopService(service, log, 'supervisor'))
  } catch (error) {
    // The channel to the supervisor would keep the process alive. It ends by itself, with the exit code of the error.
    stopping.call(() => undefined)
    process.disconnect?.()
    throw error
  }
}

async function openAndServe(config: Config, startSecrets: StartSecrets, log: ProcessLog): Promise<RunningService> {
  const db = await openMigrated(config, {
    onOutage: (reason) => log.logger.error({ reason }, 'database outage'),
    onReplicaAway: (reason) => log.logger.warn({ reason }, 'the replica cannot be used; the primary answers instead'),
    onReplicaBack: () => log.logger.info('the replica is used again'),
    onRecovery: (outageMs) => log.logger.warn({ outageMs: Math.round(outageMs) }, 'database outage is over'),
  })
  try {
    const service = await serve(config, { db, ...startSecrets, publicUrl: createPublicUrl(config.baseUrl), logger: log.logger })
    handleUncaughtErrors(service, log)
    return service
  } catch (error) {
    // An open database would keep the process alive.
    await db.close()
    throw error
  }
}

type Welcome = Omit<StartSecrets, 'secrets'> & { readonly port: number; readonly hasAdmin: boolean }

/** What an operator needs to know after the start. */
function welcome(config: Config, { port, hasAdmin, firstAdminToken, devMailToken }: Welcome): string {
  const publicUrl = createPublicUrl(config.baseUrl)
  publicUrl.setPort(port)
  const baseUrl = publicUrl.get()
  const listeningUrl = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`
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
  const hints: [name: string, advice: string][] = []
  if (/^http:\/\/(?:localhost|127\.)/.test(config.baseUrl)) hints.push(['BASE_URL', 'the public https:// address, for the links in mails'])
  if (config.smtpUrl === undefined) hints.push(['SMTP_URL', 'smtp://user:password@host:587, and MAIL_FROM'])
  if (config.secretKey === undefined) hints.push(['SECRET_KEY', `from \`${COMMAND} secret generate\`, when more than one machine serves`])
  if (config.database.kind === 'sqlite') hints.push(['DATABASE_URL', 'postgres://…, when one machine is not enough'])
  const weak = weakSettings(config)
  if (config.corsOrigins === '*' && weak.length === 0) hints.push(['CORS_ORIGINS', 'the origins of your web pages'])
  for (const { name, value, problem } of weak) hints.push([name, `${value}; it ${problem}`])
  const width = Math.max(...hints.map(([name]) => name.length))
  return hints.map(([name, advice]) => `${name.padEnd(width)}  ${advice}`)
}
