import { entity, instant, integer, text, type ValuesOf } from './entity.ts'

/** `oidc`: OpenID Connect. `microsoft`: the same, with its own claim for verified addresses. `github`: OAuth and the API of GitHub. */
export type ProviderKind = 'oidc' | 'microsoft' | 'github'

/** A provider as people see it. */
export type Provider = { readonly name: string; readonly label: string }

/** A provider that people can sign in with, as the settings name it. */
export type ProviderSettings = Provider & {
  readonly kind: ProviderKind
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
}

/** What a provider has said about somebody, after its answer was verified. */
export type ProvenIdentity = {
  readonly provider: string
  readonly issuer: string
  readonly subject: string
  /** As the provider wrote it; undefined if it named none. */
  readonly email: string | undefined
  /** Whether the provider says that the address belongs to this person. */
  readonly isEmailVerified: boolean
  readonly firstName: string | undefined
  readonly lastName: string | undefined
}

/** A sign-in that has begun at a provider. Only the browser that began it has it, sealed in a cookie. */
export type ProviderFlow = {
  readonly provider: string
  /** In the address that the provider leads back to. Works once. */
  readonly state: string
  /** In the signed answer of the provider. */
  readonly nonce: string
  /** Proves to the provider that the same service asks for the answer (PKCE). */
  readonly verifier: string
  readonly expiresAt: number
}

/** An account at a provider as its owner sees it. */
export const IDENTITY = entity('identities', { provider: text, email: text, connectedAt: instant })
export const IDENTITY_ROW = entity('identities', { issuer: text, subject: text, userId: integer, ...IDENTITY.fields })

export type Identity = ValuesOf<typeof IDENTITY.fields>
export type IdentityRow = ValuesOf<typeof IDENTITY_ROW.fields>
/** `proven`: whether it belongs to the owner of the address, because nobody else may have registered the account. */
export type ExportedIdentity = IdentityRow & { readonly proven: boolean }

// The metadata of these hosts name the issuer by the id of a tenant, or leave it open for every tenant.
const TENANT_HOSTS = /^login\.microsoftonline\.com$|\.b2clogin\.com$/
const TENANT_ID = /^\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\//i

/** Whether the provider with this issuer in the settings can have issued an identity. */
export function isIssuerOf(configured: string, issuer: string): boolean {
  const [setting, stored] = [URL.parse(configured), URL.parse(issuer)]
  if (setting === null || stored === null || setting.origin !== stored.origin) return false
  // A tenant that the settings name by anything but its id, such as `common` or a domain, has an id that they do not know.
  if (TENANT_HOSTS.test(setting.hostname) && !TENANT_ID.test(setting.pathname)) return true
  return pathOf(setting) === pathOf(stored)
}

/** The settings may name the address of the metadata, and GitHub's issuer has no slash at its end. */
function pathOf({ pathname }: URL): string {
  return pathname.replace(/\/(\.well-known\/.*)?$/, '')
}
