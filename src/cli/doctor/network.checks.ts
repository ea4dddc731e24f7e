import { createConnection } from 'node:net'
import type { Config } from '../../config/load.ts'
import { checkClock } from './database.checks.ts'
import { type Finding, fault, ok, reasonOf, warning } from './finding.ts'

const REQUEST_TIMEOUT_MS = 5000
const LOCAL = /^http:\/\/(?:localhost|127\.|\[::1\])/

type Answer = { readonly isLatchkey: boolean; readonly status: number; readonly date: number | undefined; readonly sentAt: number }

/** The port here, the public address from here, and the clock there. */
export async function checkAddresses(config: Config, now: () => number): Promise<readonly Finding[]> {
  const port = await checkPort(config)
  return [port.finding, ...(await checkBaseUrl(config, port.isServing, now))]
}

async function checkPort({ host, port }: Config): Promise<{ readonly finding: Finding; readonly isServing: boolean }> {
  // Where it listens on every address, it is to be found on this one.
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  if (port === 0) return { finding: ok('port', 'PORT is 0: a free one is taken at each start'), isServing: false }
  if (!(await isOpen(address, port)))
    return { finding: warning('port', `nothing listens on ${host}, port ${port}`, 'Start the service: npm start.'), isServing: false }
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}`
  const isLatchkey = await askHeartbeat(url, Date.now).then(
    (answer) => answer.isLatchkey,
    () => false,
  )
  if (isLatchkey) return { finding: ok('port', `the service answers on ${host}, port ${port}`), isServing: true }
  const advice = 'Stop the other program, or set PORT to another number.'
  return { finding: fault('port', `another program has port ${port} on ${host}`, advice), isServing: false }
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

async function checkBaseUrl({ baseUrl, smtpUrl }: Config, isServing: boolean, now: () => number): Promise<Finding[]> {
  if (baseUrl === 'http://localhost:0') return [ok('base url', 'follows the port that is taken at each start')]
  const findings: Finding[] = []
  if (smtpUrl !== undefined && LOCAL.test(baseUrl))
    findings.push(
      fault('base url', `${baseUrl} is where the links in mails lead: to the reader's own machine`, 'Set BASE_URL to the public address.'),
    )
  else if (baseUrl.startsWith('http://') && !LOCAL.test(baseUrl))
    findings.push(
      warning('base url', `${baseUrl} is not encrypted`, 'Put a proxy with TLS in front, and set BASE_URL to its https:// address.'),
    )
  try {
    const answer = await askHeartbeat(baseUrl, now)
    findings.push(judge(baseUrl, answer))
    if (answer.isLatchkey) findings.push(...checkClock(answer.date, baseUrl, answer.sentAt))
  } catch (error) {
    const message = `${baseUrl} cannot be reached from here: ${reasonOf(error)}`
    const advice = 'Check BASE_URL, the name in DNS, the certificate and the proxy in front.'
    findings.push(
      isServing || !LOCAL.test(baseUrl) ? fault('base url', message, advice) : warning('base url', message, 'Start the service.'),
    )
  }
  return findings
}

function judge(baseUrl: string, { isLatchkey, status }: Answer): Finding {
  if (isLatchkey) return ok('base url', `${baseUrl} leads to the service`)
  const advice = 'Check that BASE_URL is the address of this service, and that the proxy passes /heartbeat on to it.'
  return fault('base url', `${baseUrl} leads somewhere else: /heartbeat was answered with ${status}`, advice)
}

async function askHeartbeat(url: string, now: () => number): Promise<Answer> {
  const sentAt = now()
  const response = await fetch(`${url}/heartbeat`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS), redirect: 'manual' })
  const body = (await response.text()).slice(0, 100)
  const date = Date.parse(response.headers.get('date') ?? '')
  return {
    isLatchkey: response.status === 200 && body === '{"status":"ok"}',
    status: response.status,
    date: Number.isNaN(date) ? undefined : date,
    sentAt,
  }
}

/** A link for a new password leads there. */
export async function checkFrontend({ frontendUrl }: Config): Promise<readonly Finding[]> {
  if (frontendUrl === undefined) return [ok('frontend', 'none is set; the built-in pages are used')]
  const page = `${frontendUrl}/reset-password`
  try {
    const { status } = await fetch(page, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS), redirect: 'manual' })
    if (status < 400) return [ok('frontend', `${page} answers`)]
    return [
      fault('frontend', `${page} was answered with ${status}`, 'Give your frontend this page, or unset FRONTEND_URL for the built-in one.'),
    ]
  } catch (error) {
    return [
      fault(
        'frontend',
        `${page} cannot be reached from here: ${reasonOf(error)}`,
        'Check FRONTEND_URL, its name in DNS and its certificate.',
      ),
    ]
  }
}
