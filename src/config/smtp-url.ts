import type { Parsed } from './parsed.ts'

/** `required`: nothing is sent without TLS. `offered`: STARTTLS is used if the server offers it. `none`: clear text. */
export type SmtpTls = 'required' | 'offered' | 'none'

export type SmtpServer = {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (`smtps://`), not after STARTTLS. */
  readonly implicitTls: boolean
  readonly tls: SmtpTls
  readonly login: { readonly user: string; readonly password: string } | undefined
}

const FORM = 'should be smtp://user:password@host:port or smtps://…; special characters in user and password are percent-encoded'
const TLS_FORM = 'should be without parameters other than ?tls=required or ?tls=none'

export function parseSmtpServer(text: string): Parsed<SmtpServer> {
  const url = parseForm(text)
  if (url === undefined) return { error: FORM }
  const tls = parseTls(url)
  if ('error' in tls) return tls
  const implicitTls = url.protocol === 'smtps:'
  if (implicitTls && tls.value === 'none') return { error: 'should be smtp:// with ?tls=none, because smtps:// is always encrypted' }
  const login = url.username === '' ? undefined : { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
  return {
    value: {
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? (implicitTls ? 465 : 587) : Number(url.port),
      implicitTls,
      tls: tls.value ?? (implicitTls || login ? 'required' : 'offered'),
      login,
    },
  }
}

function parseForm(text: string): URL | undefined {
  const url = URL.parse(text)
  const isPlain = /^smtps?:\/\/[^\s#\\]+$/i.test(text) && !/%(?![0-9A-Fa-f]{2})/.test(text)
  if (url === null || !isPlain || url.hostname === '' || !/^\/?$/.test(url.pathname)) return undefined
  // If the query contains an `@`, it is the rest of a password with an unencoded `?`. The error must not repeat it.
  const isMisread = url.search.includes('@') || (url.username === '' && url.password !== '')
  return isMisread ? undefined : url
}

/** An unknown parameter is an error, because it may be a misspelt parameter that was meant to require encryption. */
function parseTls({ searchParams }: URL): Parsed<'required' | 'none' | undefined> {
  const unknown = [...searchParams.keys()].find((name) => name !== 'tls')
  if (unknown !== undefined) return { error: `${TLS_FORM}, has "${unknown}"` }
  const [tls, ...others] = searchParams.getAll('tls')
  if (others.length === 0 && (tls === undefined || tls === 'required' || tls === 'none')) return { value: tls }
  return { error: TLS_FORM }
}
