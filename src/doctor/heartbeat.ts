import { FORWARDED_HEADER, INSTANCE_HEADER } from '../shared/instance-header.ts'

export const REQUEST_TIMEOUT_MS = 5000

export type Heartbeat = {
  readonly isLatchkey: boolean
  /** The id of the database that the service uses. Undefined for a service that does not send it. */
  readonly instanceId: string | undefined
  /** Whether a proxy named the client, and the service ignored it. */
  readonly isForwardedUnseen: boolean
  readonly status: number
  readonly date: number | undefined
  readonly sentAt: number
}

export async function requestHeartbeat(url: string, now: () => number): Promise<Heartbeat> {
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
export type Identity = 'this service' | 'another service' | 'unknown'

/** Whether the service that answered uses the database of these settings. */
export function identify({ instanceId }: Heartbeat, expected: string | undefined): Identity {
  if (instanceId === undefined || expected === undefined) return 'unknown'
  return instanceId === expected ? 'this service' : 'another service'
}
