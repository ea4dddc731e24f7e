import { createConnection } from 'node:net'
import type { Config } from '../config/load.ts'
import { COMMAND, FORWARDED_HEADER, INSTANCE_HEADER } from '../shared/program.ts'
import { findInstanceId } from '../storage/maintenance/inspection.ts'
import { checkClock } from './database.checks.ts'
import { type Finding, failure, ok, reasonOf, warning } from './finding.ts'

const LOCAL = /^http:\/\/(?:localhost|127\.|\[::1\])/

const FORWARDED_UNSEEN = warning(
  'proxy',
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
  if (port === 0) return { findings: ok('port', 'PORT is 0: every start uses a free port'), isServing: false }
  if (!(await isOpen(address, port)))
    return {
      findings: warning('port', `nothing listens on ${host}, port ${port}`, `Start the service: ${COMMAND} serve`),
      isServing: false,
    }
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}`
  const heartbeat = await requestHeartbeat(url, Date.now).catch(() => undefined)
  const findings = judgePort(`${host}, port ${port}`, heartbeat, instanceId)
  return { findings, isServing: findings.every(({ verdict }) => verdict !== 'error') }
}

function judgePort(place: string, heartbeat: Heartbeat | undefined, instanceId: string | undefined): Finding[] {
  const advice = 'Stop the other program, or set PORT to another number.'
  if (!heartbeat?.isLatchkey) return failure('port', `another program listens on ${place}`, advice)
  switch (identify(heartbeat, instanceId)) {
    case 'this service':
      return ok('port', `the service answers on ${place}`)
    case 'another service':
      return failure('port', `another Latchkey service answers on ${place}: it uses another database`, advice)
    case 'unknown':
      return instanceId === undefined
        ? ok('port', `a service answers on ${place}; whether it uses this database is unknown`)
        : warning(
            'port',
            `a service answers on ${place}, and does not say which database it uses`,
            'Restart the service, if it is this one, so that it runs this version.',
          )
  }
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
  if (baseUrl === 'http://localhost:0') return ok('base url', 'follows the port of each start')
  const findings: Finding[] = []
  if (smtpUrl !== undefined && LOCAL.test(baseUrl))
    findings.push(
      ...failure(
        'base url',
        `the links in mails lead to ${baseUrl}, which is the reader's own machine`,
        'Set BASE_URL to the public address.',
      ),
    )
  else if (baseUrl.startsWith('http://') && !LOCAL.test(baseUrl))
    findings.push(
      ...warning('base url', `${baseUrl} is not encrypted`, 'Put a proxy with TLS in front, and set BASE_URL to its https:// address.'),
    )
  try {
    const heartbeat = await requestHeartbeat(baseUrl, now)
    findings.push(...judgeBaseUrl(baseUrl, heartbeat, instanceId))
    if (heartbeat.isLatchkey) findings.push(...checkClock(heartbeat.date, baseUrl, heartbeat.sentAt))
    if (heartbeat.isLatchkey && heartbeat.isForwardedUnseen) findings.push(...FORWARDED_UNSEEN)
  } catch (error) {
    const message = `${baseUrl} cannot be reached from here: ${reasonOf(error)}`
    const advice = 'Check BASE_URL, the name in DNS, the certificate and the proxy in front.'
    const isExpected = !isServing && LOCAL.test(baseUrl)
    findings.push(
      ...(isExpected ? warning('base url', message, `Start the service: ${COMMAND} serve`) : failure('base url', message, advice)),
    )
  }
  return findings
}

function judgeBaseUrl(baseUrl: string, heartbeat: Heartbeat, instanceId: string | undefined): Finding[] {
  const advice = 'Check that BASE_URL is the address of this service, and that the proxy passes /heartbeat on to it.'
  if (!heartbeat.isLatchkey)
    return failure('base url', `${baseUrl} leads somewhere else: /heartbeat was answered with ${heartbeat.status}`, advice)
  switch (identify(heartbeat, instanceId)) {
    case 'this service':
      return ok('base url', `${baseUrl} leads to the service`)
    case 'another service':
      return failure('base url', `${baseUrl} leads to another Latchkey service: it uses another database`, advice)
    case 'unknown':
      return ok('base url', `${baseUrl} leads to a service; whether it uses this database is unknown`)
  }
}

/** Checks the page that the link of a password reset leads to. */
export async function checkFrontend({ frontendUrl }: Config): Promise<readonly Finding[]> {
  if (frontendUrl === undefined) return ok('frontend', 'FRONTEND_URL is not set; the built-in pages are used')
  const page = `${frontendUrl}/reset-password`
  try {
    const { status } = await fetch(page, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS), redirect: 'manual' })
    if (status < 400) return ok('frontend', `${page} answers`)
    const advice = 'Add this page to your frontend, or unset FRONTEND_URL to use the built-in page.'
    return failure('frontend', `${page} was answered with ${status}`, advice)
  } catch (error) {
    const advice = 'Check FRONTEND_URL, its name in DNS and its certificate.'
    return failure('frontend', `${page} cannot be reached from here: ${reasonOf(error)}`, advice)
  }
}

const REQUEST_TIMEOUT_MS = 5000

type Heartbeat = {
  readonly isLatchkey: boolean
  /** The id of the database that the service uses. Undefined for a service that does not send it. */
  readonly instanceId: string | undefined
  /** Whether a proxy named the client, and the service ignored it. */
  readonly isForwardedUnseen: boolean
  readonly status: number
  readonly date: number | undefined
  readonly sentAt: number
}

async function requestHeartbeat(url: string, now: () => number): Promise<Heartbeat> {
  const sentAt = now()
  const response = await fetch(`${url}/heartbeat`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS), redirect: 'manual' })
  const body = (await response.text()).slice(0, 100)
  const date = Date.parse(response.headers.get('date') ?? '')
  return {
    isLatchkey: response.status === 200 && body === '{"status":"ok"}',
    instanceId: response.headers.get(INSTANCE_HEADER) ?? undefined,
    isForwardedUnseen: response.headers.get(FORWARDED_HEADER) === 'ignored',
    status: response.status,
    date: Number.isNaN(date) ? undefined : date,
    sentAt,
  }
}

/** `unknown`: the service does not name its database, or the expected id could not be read. */
type Identity = 'this service' | 'another service' | 'unknown'

/** Whether the service that answered uses the database of these settings. */
function identify({ instanceId }: Heartbeat, expected: string | undefined): Identity {
  if (instanceId === undefined || expected === undefined) return 'unknown'
  return instanceId === expected ? 'this service' : 'another service'
}
