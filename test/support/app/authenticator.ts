import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export type AuthenticatorOptions = {
  readonly origin?: string
  readonly rpId?: string
  /** Without it, the authenticator does not know who holds it. */
  readonly verifiesUser?: boolean
  /** How often it has signed before. Zero if it does not count. */
  readonly counter?: number
}

type CreationOptions = { readonly challenge: string; readonly rp: { readonly id: string }; readonly user: { readonly id: string } }
type RequestOptions = { readonly challenge: string; readonly rpId: string }

/** Says what the authenticator is, and who vouches for it. `forU2f` is what an authenticator of the older protocol signs. */
export type Attest = (signed: { readonly data: Buffer; readonly clientHash: Buffer; readonly forU2f: Buffer }) => {
  readonly format: string
  readonly statement: readonly (readonly [Buffer, Buffer])[]
}

/** An authenticator in software: one passkey with an ES256 key, as a browser returns it. */
export function createAuthenticator({
  origin = 'http://localhost',
  rpId = 'localhost',
  verifiesUser = true,
  counter = 0,
}: AuthenticatorOptions = {}) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(16)
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const coseKey = cborMap([
    [cborInt(1), cborInt(2)],
    [cborInt(3), cborInt(-7)],
    [cborInt(-1), cborInt(1)],
    [cborInt(-2), cborBytes(Buffer.from(x, 'base64url'))],
    [cborInt(-3), cborBytes(Buffer.from(y, 'base64url'))],
  ])
  let count = counter
  let userHandle = ''

  function authenticatorData(hasKey: boolean): Buffer {
    const flags = 0x01 | (verifiesUser ? 0x04 : 0) | (hasKey ? 0x40 : 0)
    const counted = Buffer.alloc(4)
    counted.writeUInt32BE(count)
    const head = [createHash('sha256').update(rpId).digest(), Buffer.from([flags]), counted]
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    return Buffer.concat(hasKey ? [...head, Buffer.alloc(16), length, id, coseKey] : head)
  }

  const clientData = (type: string, challenge: string) => Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
  const wrap = (response: Readonly<Record<string, unknown>>) => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response,
  })

  return {
    id: id.toString('base64url'),
    privateKey,
    /** The answer to creation options. */
    create({ challenge, user }: CreationOptions, attest: Attest = () => ({ format: 'none', statement: [] })) {
      userHandle = user.id
      const data = authenticatorData(true)
      const client = clientData('webauthn.create', challenge)
      const clientHash = createHash('sha256').update(client).digest()
      const rpIdHash = createHash('sha256').update(rpId).digest()
      const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
      const { format, statement } = attest({ data, clientHash, forU2f: Buffer.concat([Buffer.alloc(1), rpIdHash, clientHash, id, point]) })
      const attestation = cborMap([
        [cborText('fmt'), cborText(format)],
        [cborText('attStmt'), cborMap(statement)],
        [cborText('authData'), cborBytes(data)],
      ])
      return wrap({
        clientDataJSON: client.toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal'],
      })
    },
    /** The answer to request options. */
    get({ challenge }: RequestOptions) {
      if (count > 0) count++
      const data = authenticatorData(false)
      const client = clientData('webauthn.get', challenge)
      const signature = sign('sha256', Buffer.concat([data, createHash('sha256').update(client).digest()]), privateKey)
      return wrap({
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle,
      })
    },
    /** Makes it a copy that has signed less often. */
    turnBack(to: number) {
      count = to
    },
  }
}

/** The part of CBOR (RFC 8949) that an authenticator writes. */
function cborHead(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value])
  return value < 256 ? Buffer.from([(major << 5) | 24, value]) : Buffer.from([(major << 5) | 25, value >> 8, value & 255])
}

export function cborInt(value: number): Buffer {
  return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
}

export function cborBytes(bytes: Buffer): Buffer {
  return Buffer.concat([cborHead(2, bytes.length), bytes])
}

export function cborText(text: string): Buffer {
  return Buffer.concat([cborHead(3, text.length), Buffer.from(text)])
}

function cborMap(entries: readonly (readonly [Buffer, Buffer])[]): Buffer {
  return Buffer.concat([cborHead(5, entries.length), ...entries.flat()])
}

export function cborList(items: readonly Buffer[]): Buffer {
  return Buffer.concat([cborHead(4, items.length), ...items])
}
