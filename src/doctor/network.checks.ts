import { createConnection } from 'node:net'
import type { Config } from '../config/load.ts'
import { COMMAND, FORWARDED_HEADER, INSTANCE_HEADER } from '../shared/program.ts'
import { findInstanceId } from '../storage/maintenance/inspection.ts'
import { checkClock } from './database.checks.ts'
import { about, type Finding, reasonOf } from './finding.ts'

const PORT = about('port')
const BASE_URL = about('base url')
const FRONTEND = about('frontend')
const START = `Start the service: ${COMMAND} serve`
const LOCAL = /^http:\/\/(?:localhost|127\.|\[::1\])/

const FORWARDED_UNSEEN = about('proxy').warning(
  'a proxy sends X-Forwarded-For while TRUST_PROXY is off: all clients seem to have the address of the proxy, and share its limits',
  'Set TRUST_PROXY=true if every request passes a proxy that sets the header.',
)

/** Checks the port on this machine, the public address as seen from here, and the clock of the service. */
export async function checkAddresses(config: Config, now: () => number): Promise<readonly Finding[]> {
  const instanceId = await findInstanceId(config.database)
  const port = await checkPort(config, instanceId)
  return [...port.findings, ...(await checkBaseUrl(config, { instanceId, isServing: port.isServing, now }))]
}

type PortCheck = { readonly findings: readonly Finding[]; readonly isServing: boolean }

async function checkPort({ host, port }: Config, instanceId: string | undefined): Promise<PortCheck> {
  // A service that listens on every address is found at this one.
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  if (port === 0) return { findings: PORT.ok('PORT is 0: every start uses a free port'), isServing: false }
  if (!(await isOpen(address, port))) return { findings: PORT.warning(`nothing listens on ${host}, port ${port}`, START), isServing: false }
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}`
  const heartbeat = await requestHeartbeat(url, Date.now).catch(() => undefined)
  const findings = judgePort(`${host}, port ${port}`, heartbeat, instanceId)
  return { findings, isServing: findings.every(({ verdict }) => verdict !== 'error') }
}

function judgePort(place: string, heartbeat: Heartbeat | undefined, instanceId: string | undefined): Finding[] {
  const advice = 'Stop the other program, or set PORT to another number.'
  if (!heartbeat?.isLatchkey) return PORT.failure(`another program listens on ${place}`, advice)
  if (instanceId === undefined) return PORT.ok(`a service answers on ${place}; whether it uses this database is unknown`)
  if (heartbeat.instanceId === undefined)
    return PORT.warning(
      `a service answers on ${place}, and does not say which database it uses`,
      'Restart the service, if it is this one, so that it runs this version.',
    )
  if (heartbeat.instanceId === instanceId) return PORT.ok(`the service answers on ${place}`)
  return PORT.failure(`another Latchkey service answers on ${place}: it uses another database`, advice)
}

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port, timeout: REQUEST_TIMEOUT_MS })
    const end = (result: boolean) => {
      socket.destroy()
      resolve(result)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
    socket.once('timeout', () => end(false))
  })
}

async function checkBaseUrl(
  { baseUrl, smtpUrl }: Config,
  { instanceId, isServing, now }: { readonly instanceId: string | undefined; readonly isServing: boolean; readonly now: () => number },
): Promise<Finding[]> {
  if (baseUrl === 'http://localhost:0') return BASE_URL.ok('follows the port of each start')
  const findings: Finding[] = []
  if (smtpUrl !== undefined && LOCAL.test(baseUrl)) {
    const message = `the links in mails lead to ${baseUrl}, which is the reader's own machine`
    findings.push(...BASE_URL.failure(message, 'Set BASE_URL to the public address.'))
  } else if (baseUrl.startsWith('http://') && !LOCAL.test(baseUrl)) {
    const advice = 'Put a proxy with TLS in front, and set BASE_URL to its https:// address.'
    findings.push(...BASE_URL.warning(`${baseUrl} is not encrypted`, advice))
  }
  try {
    const heartbeat = await requestHeartbeat(baseUrl, now)
    findings.push(...judgeBaseUrl(baseUrl, heartbeat, instanceId))
    if (heartbeat.isLatchkey) findings.push(...checkClock(heartbeat.date, baseUrl, heartbeat.sentAt))
    if (heartbeat.isLatchkey && heartbeat.isForwardedUnseen) findings.push(...FORWARDED_UNSEEN)
  } catch (error) {
    const message = `${baseUrl} cannot be reached from here: ${reasonOf(error)}`
    const advice = 'Check BASE_URL, the name in DNS, the certificate and the proxy in front.'
    const isExpected = !isServing && LOCAL.test(baseUrl)
    findings.push(...(isExpected ? BASE_URL.warning(message, START) : BASE_URL.failure(message, advice)))
  }
  return findings
}

function judgeBaseUrl(baseUrl: string, heartbeat: Heartbeat, instanceId: string | undefined): Finding[] {
  const advice = 'Check that BASE_URL is the address of this service, and that the proxy passes /heartbeat on to it.'
  if (!heartbeat.isLatchkey)
    return BASE_URL.failure(`${baseUrl} leads somewhere else: /heartbeat was answered with ${heartbeat.status}`, advice)
  if (instanceId === undefined || heartbeat.instanceId === undefined)
    return BASE_URL.ok(`${baseUrl} leads to a service; whether it uses this database is unknown`)
  if (heartbeat.instanceId === instanceId) return BASE_URL.ok(`${baseUrl} leads to the service`)
  return BASE_URL.failure(`${baseUrl} leads to another Latchkey service: it uses another database`, advice)
}

/** Checks the page that the link of a password reset leads to. */
export async function checkFrontend({ frontendUrl }: Config): Promise<readonly Finding[]> {
  if (frontendUrl === undefined) return FRONTEND.ok('FRONTEND_URL is not set; the built-in pages are used')
  const page = `${frontendUrl}/reset-password`
  try {
    const { status } = await fetch(page, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS), redirect: 'manual' })
    if (status < 400) return FRONTEND.ok(`${page} answers`)
    const advice = 'Add this page to your frontend, or unset FRONTEND_URL to use the built-in page.'
    return FRONTEND.failure(`${page} was answered with ${status}`, advice)
  } catch (error) {
    const advice = 'Check FRONTEND_URL, its name in DNS and its certificate.'
    return FRONTEND.failure(`${page} cannot be reached from here: ${reasonOf(error)}`, advice)
  }
}

const REQUEST_TIMEOUT_MS = 5000

type Heartbeat = Awaited<ReturnType<typeof requestHeartbeat>>

async function requestHeartbeat(url: string, now: () => number) {
  const sentAt = now()
  const response = await fetch(`${url}/heartbeat`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS), redirect: 'manual' })
  const body = (await response.text()).slice(0, 100)
  const date = Date.parse(response.headers.get('date') ?? '')
  return {
    isLatchkey: response.status === 200 && body === '{"status":"ok"}',
    /** The id of the database that the service uses. Undefined for a service that does not send it. */
    instanceId: response.headers.get(INSTANCE_HEADER) ?? undefined,
    /** Whether a proxy named the client, and the service ignored it. */
    isForwardedUnseen: response.headers.get(FORWARDED_HEADER) === 'ignored',
    status: response.status,
    date: Number.isNaN(date) ? undefined : date,
    sentAt,
  }
}
