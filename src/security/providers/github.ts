import type * as OpenIdClient from 'openid-client'
import type { ProvenIdentity, ProviderSettings } from '../../model/provider.ts'
import { answerUrl, type ClientParts, type ProviderClient, splitName, textOf } from './oidc.ts'
import { allowedUrl, createStepFetch, type WebFetch } from './provider-fetch.ts'

const SCOPE = 'read:user user:email'
const PUBLIC_ISSUER = 'https://github.com'
const API_HEADERS = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28', 'user-agent': 'Latchkey' }

/** GitHub speaks OAuth without OpenID Connect: who somebody is, its API says. A GitHub Enterprise Server has the same below its own address. */
export function createGitHubClient(settings: ProviderSettings, { fetch }: ClientParts): ProviderClient {
  const { name, issuer, clientId, clientSecret } = settings
  const base = issuer.replace(/\/$/, '')
  const api = base === PUBLIC_ISSUER ? 'https://api.github.com' : `${base}/api/v3`

  async function configure(stepFetch: WebFetch) {
    const client = await import('openid-client')
    const server = {
      issuer: base,
      authorization_endpoint: `${base}/login/oauth/authorize`,
      token_endpoint: `${base}/login/oauth/access_token`,
    }
    const config = new client.Configuration(server, clientId, undefined, client.ClientSecretPost(clientSecret))
    config[client.customFetch] = stepFetch as OpenIdClient.CustomFetch
    if (new URL(base).protocol === 'http:') client.allowInsecureRequests(config)
    return { client, config }
  }

  async function read(stepFetch: WebFetch, path: string, accessToken: string): Promise<unknown> {
    const response = await stepFetch(`${api}${path}`, {
      method: 'GET',
      headers: { ...API_HEADERS, authorization: `Bearer ${accessToken}` },
    })
    if (response.status !== 200) throw new Error(`${path} answered with status ${response.status}`)
    return response.json()
  }

  return {
    async begin({ state, verifier, redirectUri }, { choosesAccount }) {
      const { client, config } = await configure(createStepFetch(base, fetch))
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(choosesAccount && { prompt: 'select_account' }),
      })
      return allowedUrl(url, base)
    },
    async complete({ state, verifier, redirectUri }, answer): Promise<ProvenIdentity> {
      const stepFetch = createStepFetch(base, fetch)
      const { client, config } = await configure(stepFetch)
      const url = answerUrl(redirectUri, answer)
      const { access_token } = await client.authorizationCodeGrant(config, url, { expectedState: state, pkceCodeVerifier: verifier })
      const user = (await read(stepFetch, '/user', access_token)) as {
        readonly id?: unknown
        readonly name?: unknown
        readonly login?: unknown
      }
      if (typeof user?.id !== 'number' || !Number.isSafeInteger(user.id)) throw new Error('/user has no id')
      const primary = primaryOf(await read(stepFetch, '/user/emails', access_token))
      return {
        provider: name,
        issuer: base,
        subject: String(user.id),
        email: textOf(primary?.email),
        isEmailVerified: primary?.verified === true,
        ...splitName(textOf(user.name) ?? textOf(user.login)),
      }
    },
    async check() {
      // There are no metadata. Without credentials, the API answers 401.
      await createStepFetch(base, fetch)(`${api}/user`, { method: 'GET', headers: API_HEADERS })
    },
  }
}

type Address = { readonly email?: unknown; readonly primary?: unknown; readonly verified?: unknown }

/** People choose which of their addresses is the primary one. Others may be old, or belong to an employer. */
function primaryOf(addresses: unknown): Address | undefined {
  return Array.isArray(addresses) ? (addresses as readonly Address[]).find((address) => address?.primary === true) : undefined
}
