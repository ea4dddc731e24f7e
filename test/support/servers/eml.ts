export type Eml = { readonly headers: ReadonlyMap<string, string>; readonly text: string; readonly html: string }

/** Reads a mail as a mail program would: headers unfolded, both parts decoded. Enough for mails of the service. */
export function parseEml(raw: string): Eml {
  const { headers, body } = splitHead(raw)
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1]
  if (boundary === undefined) throw new Error('the mail has only one part')
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => splitHead(part.replace(/^\r\n/, '').replace(/\r\n$/, '')))
  const bodyOf = (type: string) => {
    const part = parts.find((candidate) => candidate.headers.get('content-type')?.startsWith(type))
    if (part === undefined) throw new Error(`the mail has no ${type} part`)
    return decodeBody(part.headers.get('content-transfer-encoding') ?? '7bit', part.body)
  }
  return { headers, text: bodyOf('text/plain'), html: bodyOf('text/html') }
}

function splitHead(raw: string): { headers: Map<string, string>; body: string } {
  const end = raw.indexOf('\r\n\r\n')
  const lines = raw
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim()))
  }
  return { headers, body: raw.slice(end + 4) }
}

function decodeBody(encoding: string, body: string): string {
  const bytes = encoding === 'base64' ? Buffer.from(body, 'base64') : encoding === 'quoted-printable' ? fromQuoted(body) : Buffer.from(body)
  return bytes.toString('utf8').replaceAll('\r\n', '\n')
}

function fromQuoted(text: string): Buffer {
  return Buffer.from(
    text.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )
}

function decodeWords(value: string): string {
  const joined = value.replace(/(=\?[^?]+\?[BQ]\?[^?]*\?=)\s+(?==\?)/gi, '$1')
  return joined.replace(/=\?utf-8\?([BQ])\?([^?]*)\?=/gi, (_, encoding: string, word: string) =>
    (encoding.toUpperCase() === 'B' ? Buffer.from(word, 'base64') : fromQuoted(word.replaceAll('_', ' '))).toString('utf8'),
  )
}
