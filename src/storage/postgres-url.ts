export type PostgresAddress = {
  /** In the order in which they are tried. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly database: string
  /** Whether a standby is passed over, as it has to be where there are several hosts. */
  readonly isPrimaryOnly: boolean
}

const SHAPE = /^postgres(?:ql)?:\/\/(?:([^/?#\s]*)@)?([^/?#\s@]+)\/([^/?#\s]+)(?:\?([^#\s]*))?$/
const HOST = /^(?:([A-Za-z0-9._-]+)|\[([0-9A-Fa-f:.]+)\])(?::(\d{1,5}))?$/
const DEFAULT_PORT = 5432
// The service writes: a standby is of no use to it.
const SESSION_ATTRIBUTES = new Set(['read-write', 'primary'])

/** Where a database URL leads; undefined when it is none. Several hosts are separated by commas, as libpq has it. */
export function parsePostgresUrl(url: string): PostgresAddress | undefined {
  const [, credentials = '', hostList = '', database = '', query = ''] = SHAPE.exec(url) ?? []
  const hosts = hostList.split(',').map(parseHost)
  const attributes = new URLSearchParams(query).get('target_session_attrs')
  const isUsable = isEncoded(credentials) && isEncoded(database) && (attributes === null || SESSION_ATTRIBUTES.has(attributes))
  if (!isUsable || !hosts.every((host) => host !== undefined)) return undefined
  return { hosts, database: decodeURIComponent(database), isPrimaryOnly: attributes !== null || hosts.length > 1 }
}

function parseHost(text: string): { host: string; port: number } | undefined {
  const [, name, ipv6, port = String(DEFAULT_PORT)] = HOST.exec(text) ?? []
  const host = name ?? ipv6
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) }
}

/** Percent signs that stand for nothing would stop the driver with words of its own. */
function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
