export type PostgresAddress = {
  /** In the order in which they are tried. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly database: string
  /** Whether a standby is passed over, as it has to be where there are several hosts. */
  readonly isPrimaryOnly: boolean
  readonly sslMode: SslMode
  /** The file with the certificates that vouch for the server's, or `system`; otherwise those that Node.js trusts. */
  readonly rootCertificate: string | undefined
}

/** As libpq has them: whether there is TLS, and whether the certificate is verified, alone or with the name of the host. */
export type SslMode = 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'

const SHAPE = /^postgres(?:ql)?:\/\/(?:([^/?#\s]*)@)?([^/?#\s@]+)\/([^/?#\s]+)(?:\?([^#\s]*))?$/
const HOST = /^(?:([A-Za-z0-9._-]+)|\[([0-9A-Fa-f:.]+)\])(?::(\d{1,5}))?$/
const DEFAULT_PORT = 5432
// The service writes: a standby is of no use to it.
const SESSION_ATTRIBUTES = new Set<unknown>([null, 'read-write', 'primary'])
const SSL_MODES: readonly SslMode[] = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']
// What this file understands, and the driver does not have to.
const OWN_PARAMETERS = ['sslmode', 'sslrootcert', 'target_session_attrs']

/** Where a database URL leads; undefined when it is none. Several hosts are separated by commas, as libpq has it. */
export function parsePostgresUrl(url: string): PostgresAddress | undefined {
  const [, credentials = '', hostList = '', database = '', query = ''] = SHAPE.exec(url) ?? []
  const hosts = hostList.split(',').map(parseHost)
  const parameters = new URLSearchParams(query)
  const attributes = parameters.get('target_session_attrs')
  const tls = parseTls(parameters)
  const isUsable = isEncoded(credentials) && isEncoded(database) && SESSION_ATTRIBUTES.has(attributes)
  if (!isUsable || tls === undefined || !hosts.every((host) => host !== undefined)) return undefined
  return { hosts, database: decodeURIComponent(database), isPrimaryOnly: attributes !== null || hosts.length > 1, ...tls }
}

/** The URL without what the driver does not have to know, and would send to the server as a setting. */
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
  // `ssl`, which other drivers know, is not passed over in silence: who writes it expects TLS.
  if (sslMode === undefined || parameters.has('ssl')) return undefined
  // Everybody has a certificate of a public authority: it says something only together with a name (libpq refuses it too).
  const isPublic = rootCertificate === undefined || rootCertificate === 'system'
  if (isPublic && (sslMode === 'verify-ca' || (sslMode === 'require' && rootCertificate !== undefined))) return undefined
  // A certificate that is given is meant to be looked at: libpq has it so too.
  if (sslMode === 'require' && rootCertificate !== undefined) return { sslMode: 'verify-ca', rootCertificate }
  // A certificate without a mode, or with one that does without TLS, would be a promise that is not kept.
  if (rootCertificate !== undefined && !sslMode.startsWith('verify'))
    return given === null ? { sslMode: 'verify-full', rootCertificate } : undefined
  return { sslMode, rootCertificate }
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
