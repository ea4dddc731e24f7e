import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { bodyOf } from './github.ts'
import { type Listening, serve } from './listen.ts'

const CLIENT = { id: 'latchkey', secret: 'secret-of-the-client' } as const

/** Who is signed in at the provider. */
export type Person = { readonly sub: string; readonly email?: string; readonly email_verified?: boolean; readonly name?: string }

/** What a provider may get wrong. */
export type Lies = {
  /** Replaces claims of the ID token. */
  readonly claims?: JWTPayload
  /** Signs with a key that the provider does not publish. */
  readonly signsWithForeignKey?: boolean
  /** Answers requests for tokens with this status, or never. */
  readonly tokenStatus?: number
  readonly isSilent?: boolean
  /** Sends everybody who asks for the metadata elsewhere. */
  readonly movesTo?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  /** What its userinfo endpoint answers, if the metadata name one. */
  readonly userinfo?: object
}

type Grant = { readonly person: Person; readonly nonce: string | null; readonly challenge: string; readonly redirectUri: string }

export type IdentityProvider = Listening & {
  readonly requests: readonly string[]
  /** The settings of a service that knows the provider under this name. */
  env(name: string): Readonly<Record<string, string>>
  /** Signs a person in. Returns where the browser goes then. */
  authorize(url: string, person: Person): string
  rotateKey(): Promise<void>
  lie(lies: Lies): void
}

/** A provider of OpenID Connect that signs whatever a test wants. The real one of `oidc-provider` cannot be made to lie. */
export async function startIdentityProvider(t: TestContext): Promise<IdentityProvider> {
  const grants = new Map<string, Grant>()
  const requests: string[] = []
  let key = await newKey()
  let lies: Lies = {}

  async function idToken({ person, nonce }: Grant, issuer: string): Promise<string> {
    const { key: signing, kid } = lies.signsWithForeignKey ? { ...(await newKey()), kid: key.kid } : key
    const claims: JWTPayload = { ...person, ...(nonce !== null && { nonce }), ...lies.claims }
    const token = new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid })
    if (claims.iss === undefined) token.setIssuer(issuer)
    if (claims.aud === undefined) token.setAudience(CLIENT.id)
    if (claims.iat === undefined) token.setIssuedAt()
    if (claims.exp === undefined) token.setExpirationTime('5 minutes')
    return token.sign(signing)
  }

  async function exchange(form: URLSearchParams, response: ServerResponse): Promise<unknown> {
    if (lies.tokenStatus !== undefined) return void response.writeHead(lies.tokenStatus).end()
    const code = form.get('code') ?? ''
    const grant = grants.get(code)
    grants.delete(code)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isClient = form.get('client_secret') === CLIENT.secret
    if (!isClient || grant?.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri'))
      return void response.writeHead(400, JSON_TYPE).end(JSON.stringify({ error: 'invalid_grant' }))
    return { access_token: 'access', token_type: 'Bearer', expires_in: 60, id_token: await idToken(grant, provider.url) }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const issuer = provider.url
    const { pathname } = new URL(request.url ?? '', issuer)
    requests.push(pathname)
    switch (pathname) {
      case '/.well-known/openid-configuration':
        if (lies.movesTo !== undefined) return void response.writeHead(302, { location: lies.movesTo }).end()
        return { ...metadataOf(issuer), ...lies.metadata }
      case '/userinfo':
        return lies.userinfo
      case '/jwks':
        return { keys: [await key.jwk()] }
      case '/token':
        return exchange(new URLSearchParams(await bodyOf(request)), response)
      default:
        return void response.writeHead(404).end()
    }
  }

  const provider = await serve(t, (request, response) => {
    if (lies.isSilent) return
    answer(request, response).then(
      (body) => body !== undefined && response.writeHead(200, JSON_TYPE).end(JSON.stringify(body)),
      () => response.writeHead(500).end(),
    )
  })

  return {
    ...provider,
    requests,
    env: (name) => providerEnv(name, provider.url),
    authorize(url, person) {
      const { searchParams } = new URL(url)
      assert.deepEqual([searchParams.get('response_type'), searchParams.get('client_id')], ['code', CLIENT.id])
      assert.equal(searchParams.get('code_challenge_method'), 'S256')
      const redirectUri = searchParams.get('redirect_uri') ?? ''
      const code = randomUUID()
      grants.set(code, { person, nonce: searchParams.get('nonce'), challenge: searchParams.get('code_challenge') ?? '', redirectUri })
      return `${redirectUri}?${new URLSearchParams({ code, state: searchParams.get('state') ?? '' })}`
    },
    async rotateKey() {
      key = await newKey()
    },
    lie(told) {
      lies = told
    },
  }
}

/** The settings for a provider that is not built in. */
export function providerEnv(name: string, issuer: string): Readonly<Record<string, string>> {
  const prefix = `PROVIDER_${name.toUpperCase()}`
  return {
    [`${prefix}_CLIENT_ID`]: CLIENT.id,
    [`${prefix}_CLIENT_SECRET`]: CLIENT.secret,
    [`${prefix}_ISSUER`]: issuer,
    [`${prefix}_LABEL`]: name.charAt(0).toUpperCase() + name.slice(1),
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

function metadataOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    id_token_signing_alg_values_supported: ['ES256'],
    token_endpoint_auth_methods_supported: ['client_secret_post'],
    response_types_supported: ['code'],
  }
}

async function newKey() {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const kid = randomUUID()
  return { key: privateKey, kid, jwk: async () => ({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }) }
}
