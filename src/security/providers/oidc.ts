import type * as OpenIdClient from 'openid-client'
import type { ProvenIdentity, ProviderFlow, ProviderSettings } from '../../model/provider.ts'
import { allowedUrl, createStepFetch, type WebFetch } from './provider-fetch.ts'

/** What a sign-in at a provider is made of. The address that it leads back to is registered at the provider. */
type FlowAt = Pick<ProviderFlow, 'state' | 'nonce' | 'verifier'> & { readonly redirectUri: string }

/** One provider, as a client of it. Both functions refuse if the provider cannot be reached or if its answer is not valid. */
export type ProviderClient = {
  /** The address at the provider to which the browser goes. */
  begin(flow: FlowAt, options: { readonly choosesAccount: boolean }): Promise<URL>
  /** Verifies the answer that the browser has brought, in the query of the address that it leads back to. */
  complete(flow: FlowAt, answer: URLSearchParams): Promise<ProvenIdentity>
  /** Asks the provider for its addresses, if it has any to ask for. */
  check(): Promise<void>
}

export type ClientParts = { readonly fetch: WebFetch; readonly now: () => number }

const SCOPE = 'openid email profile'
const METADATA_PATH = '/.well-known/openid-configuration'
const METADATA_MS = 60 * 60_000
/** Its metadata name no prompts. */
const GOOGLE = 'https://accounts.google.com'

type Claims = Readonly<Record<string, unknown>>

/**
 * A client of an OpenID Connect provider. Its metadata are kept for an hour, and longer while it cannot be reached. Its keys are read for
 * every sign-in, so that a key that was replaced a moment ago is known.
 */
export function createOidcClient(settings: ProviderSettings, { fetch, now }: ClientParts): ProviderClient {
  const { name, kind, issuer, clientId, clientSecret } = settings
  let kept: { readonly text: string; readonly until: number } | undefined

  /** The metadata, as text. Those that are kept are used for longer while the provider cannot be reached. */
  async function readMetadata(read: () => Promise<Response>): Promise<string> {
    if (kept !== undefined && kept.until > now()) return kept.text
    try {
      const response = await read()
      if (response.status !== 200) throw new Error(`the metadata have status ${response.status}`)
      kept = { text: await response.text(), until: now() + METADATA_MS }
      return kept.text
    } catch (error) {
      if (kept === undefined) throw error
      return kept.text
    }
  }

  function withKeptMetadata(stepFetch: WebFetch): WebFetch {
    return async (url, options) => {
      if (!url.endsWith(METADATA_PATH)) return stepFetch(url, options)
      return new Response(await readMetadata(() => stepFetch(url, options)), { headers: { 'content-type': 'application/json' } })
    }
  }

  async function configure(): Promise<{ readonly client: typeof OpenIdClient; readonly config: OpenIdClient.Configuration }> {
    // Most services never need it.
    const client = await import('openid-client')
    const isLocal = new URL(issuer).protocol === 'http:'
    const authenticate: OpenIdClient.ClientAuth = (server, ...others) => {
      const methods = server.token_endpoint_auth_methods_supported ?? []
      const method = methods.includes('client_secret_post') ? client.ClientSecretPost : client.ClientSecretBasic
      return method(clientSecret)(server, ...others)
    }
    try {
      const config = await client.discovery(new URL(issuer), clientId, undefined, authenticate, {
        // The types differ in how exactly they describe the options, which are passed on as they are.
        [client.customFetch]: withKeptMetadata(createStepFetch(issuer, fetch)) as OpenIdClient.CustomFetch,
        execute: [client.enableNonRepudiationChecks, ...(isLocal ? [client.allowInsecureRequests] : [])],
      })
      allowedUrl(new URL(config.serverMetadata().authorization_endpoint ?? ''), issuer)
      return { client, config }
    } catch (error) {
      // Metadata that cannot be used are read again.
      kept = undefined
      throw error
    }
  }

  /** The claims with the address: by the specification they may be in the token, or only at an endpoint of their own. */
  async function claimsOf(
    { client, config }: Awaited<ReturnType<typeof configure>>,
    { token, accessToken }: { readonly token: OpenIdClient.IDToken; readonly accessToken: string },
  ): Promise<Claims> {
    if (token['email'] !== undefined || config.serverMetadata().userinfo_endpoint === undefined) return token
    return client.fetchUserInfo(config, accessToken, token.sub)
  }

  /** Every provider has to be able to ask for a new login; some refuse to ask which account to use (OpenID Connect Core, 15.1). */
  function hasAccountChoice({ prompt_values_supported: prompts }: Readonly<Record<string, unknown>>): boolean {
    return kind === 'microsoft' || issuer === GOOGLE || (Array.isArray(prompts) && prompts.includes('select_account'))
  }

  return {
    async begin({ state, nonce, verifier, redirectUri }, { choosesAccount }) {
      const { client, config } = await configure()
      return client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(choosesAccount && { prompt: hasAccountChoice(config.serverMetadata()) ? 'select_account' : 'login' }),
      })
    },
    async complete({ state, nonce, verifier, redirectUri }: FlowAt, answer): Promise<ProvenIdentity> {
      const configured = await configure()
      const { client, config } = configured
      const tokens = await client.authorizationCodeGrant(config, answerUrl(redirectUri, answer), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const token = tokens.claims()
      if (token === undefined) throw new Error('no ID token')
      const claims = await claimsOf(configured, { token, accessToken: tokens.access_token })
      return {
        provider: name,
        issuer: token.iss,
        subject: token.sub,
        email: textOf(claims['email']),
        isEmailVerified: kind === 'microsoft' ? isDomainOwner(claims) : isTrue(claims['email_verified']),
        ...namesOf(claims),
      }
    },
    async check() {
      kept = undefined
      await configure()
    },
  }
}

/** The address that the provider has led back to. */
export function answerUrl(redirectUri: string, answer: URLSearchParams): URL {
  const url = new URL(redirectUri)
  url.search = answer.toString()
  return url
}

/**
 * Microsoft says nothing about addresses by itself: an admin of any tenant can give a user any address. Only this optional claim, which the
 * operator adds to the registration, says that the address belongs to a domain which the tenant has verified. It speaks about the address
 * beside it, and not about one from elsewhere.
 */
function isDomainOwner({ xms_edov: claim }: Claims): boolean {
  return isTrue(claim) || claim === 1 || claim === '1'
}

/** Some providers write booleans as text. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true'
}

export function textOf(claim: unknown): string | undefined {
  return typeof claim === 'string' && claim !== '' ? claim : undefined
}

function namesOf(claims: Claims): Pick<ProvenIdentity, 'firstName' | 'lastName'> {
  const firstName = textOf(claims['given_name'])
  const lastName = textOf(claims['family_name'])
  return firstName === undefined && lastName === undefined ? splitName(textOf(claims['name'])) : { firstName, lastName }
}

/** Most names have their first name first. */
export function splitName(name: string | undefined): Pick<ProvenIdentity, 'firstName' | 'lastName'> {
  const [firstName, ...others] = (name ?? '').trim().split(/\s+/)
  return { firstName: firstName || undefined, lastName: others.join(' ') || undefined }
}
