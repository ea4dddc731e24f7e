export type PostgresHost = { readonly host: string; readonly port: number }

export type PostgresAddress = {
  readonly url: string
  /** In the order in which they are tried. */
  readonly hosts: readonly PostgresHost[]
  readonly database: string
  readonly sslMode: SslMode
  /** A file with the certificates of trusted authorities, or `system`; without it, those that Node.js trusts. */
  readonly rootCertificate: string | undefined
  /** Whether a pooler gives each transaction another connection to the server, so that nothing may be kept on a connection. */
  readonly isPooled: boolean
  /** Set for a replica: any server will do, not only the primary. */
  readonly isReplica?: true
}

/** The modes of libpq: whether there is TLS, and whether the certificate is verified, alone or with the name of the host. */
export type SslMode = 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'

const SHAPE = /^postgres(?:ql)?:\/\/(?:([^/?#\s]*)@)?([^/?#\s@]+)\/([^/?#\s]+)(?:\?([^#\s]*))?$/
const HOST = /^(?:([A-Za-z0-9._-]+)|\[([0-9A-Fa-f:.]+)\])(?::(\d{1,5}))?$/
const DEFAULT_PORT = 5432
// All of them mean the primary, which the service always requires.
const SESSION_ATTRIBUTES = new Set<unknown>([null, 'read-write', 'primary'])
const POOLERS = new Set<unknown>([null, 'transaction'])
const SSL_MODES: readonly SslMode[] = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']
// Parameters that are handled here. The driver would send them to the server as settings.
const OWN_PARAMETERS = ['sslmode', 'sslrootcert', 'target_session_attrs', 'pooler']

/** Parses a database URL; undefined when it is malformed. Several hosts are separated by commas, as in libpq. */
export function parsePostgresUrl(url: string): PostgresAddress | undefined {
  const [, credentials = '', hostList = '', database = '', query = ''] = SHAPE.exec(url) ?? []
  const hosts = hostList.split(',').map(parseHost)
  const parameters = new URLSearchParams(query)
  const attributes = parameters.get('target_session_attrs')
  const pooler = parameters.get('pooler')
  const tls = parseTls(parameters)
  const isUsable = isEncoded(credentials) && isEncoded(database) && SESSION_ATTRIBUTES.has(attributes) && POOLERS.has(pooler)
  if (!isUsable || tls === undefined || !hosts.every((host) => host !== undefined)) return undefined
  return { url, hosts, database: decodeURIComponent(database), isPooled: pooler !== null, ...tls }
}

/** The URL without the parameters that are handled here. */
export function forDriver(url: string): string {
  const [address = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  for (const name of OWN_PARAMETERS) parameters.delete(name)
  return parameters.size === 0 ? address : `${address}?${parameters}`
}

function parseTls(parameters: URLSearchParams): Pick<PostgresAddress, 'sslMode' | 'rootCertificate'> | undefined {
  const rootCertificate = parameters.get('sslrootcert') || undefined
  const given = parameters.get('sslmode')
  const sslMode = SSL_MODES.find((mode) => mode === (given ?? 'disable'))
  // `ssl`, a parameter of other drivers, is refused: an operator who writes it expects TLS.
  if (sslMode === undefined || parameters.has('ssl')) return undefined
  // Anybody can have a certificate of a public authority: it proves something only together with a host name (libpq refuses this too).
  const isPublic = rootCertificate === undefined || rootCertificate === 'system'
  if (isPublic && (sslMode === 'verify-ca' || (sslMode === 'require' && rootCertificate !== undefined))) return undefined
  // An operator who gives a root certificate expects it to be checked, as in libpq.
  if (sslMode === 'require' && rootCertificate !== undefined) return { sslMode: 'verify-ca', rootCertificate }
  // A root certificate without a mode means full verification; one with a mode that may do without TLS is a contradiction.
  if (rootCertificate !== undefined && !sslMode.startsWith('verify'))
    return given === null ? { sslMode: 'verify-full', rootCertificate } : undefined
  return { sslMode, rootCertificate }
}

function parseHost(text: string): { host: string; port: number } | undefined {
  const [, name, ipv6, port = String(DEFAULT_PORT)] = HOST.exec(text) ?? []
  const host = name ?? ipv6
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) }
}

/** The driver fails with an unclear error on malformed percent-encoding. */
function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
