import type { ProviderKind, ProviderSettings } from '../model/provider.ts'
import { isLoopbackHostHeader } from '../shared/addresses.ts'
import { type Environment, oneLine, type Parsed, plainUrl, visible } from './values.ts'

type Known = { readonly label: string; readonly issuer: string; readonly kind: ProviderKind }

/** The providers that need no issuer and no label. Microsoft's `common` is for every tenant, and for personal accounts. */
const BUILT_IN: Readonly<Record<string, Known>> = {
  google: { label: 'Google', issuer: 'https://accounts.google.com', kind: 'oidc' },
  microsoft: { label: 'Microsoft', issuer: 'https://login.microsoftonline.com/common/v2.0', kind: 'microsoft' },
  gitlab: { label: 'GitLab', issuer: 'https://gitlab.com', kind: 'oidc' },
  github: { label: 'GitHub', issuer: 'https://github.com', kind: 'github' },
}

type Part = { readonly parse: (text: string) => Parsed<string>; readonly meaning: string; readonly absence: string }

/**
 * The settings of each provider that SIGN_IN_PROVIDERS names: `PROVIDER_`, the name of the provider in upper case, and the name of the part.
 * The documentation lists them as rows like every other setting.
 */
export const PROVIDER_PARTS = {
  CLIENT_ID: {
    parse: visible(1, 500),
    absence: 'required for each provider',
    meaning: 'the id under which the provider knows this service; see [providers](providers.md)',
  },
  CLIENT_SECRET: { parse: visible(1, 2000), absence: 'required for each provider', meaning: 'the secret of that id' },
  ISSUER: {
    parse: parseIssuer,
    absence: 'required unless it is built in',
    meaning: 'the issuer of an OpenID Connect provider, `https://…`; for `gitlab`, `github` and `microsoft` your own instance or tenant',
  },
  LABEL: { parse: oneLine(40), absence: 'required unless it is built in', meaning: 'the name that the buttons of the pages show' },
} as const satisfies Readonly<Record<string, Part>>

type PartName = keyof typeof PROVIDER_PARTS

const PREFIX = 'PROVIDER_'
const PART_NAMES = Object.keys(PROVIDER_PARTS) as readonly PartName[]
const NAME = /^[a-z][a-z0-9]{0,31}$/
// Sessions name how they were opened.
const RESERVED: readonly string[] = ['password', 'passkey', 'email']
const MAX_PROVIDERS = 20

/** The name of a setting in the environment. */
export function providerSetting(provider: string, part: PartName): string {
  return `${PREFIX}${provider.toUpperCase()}_${part}`
}

export function parseProviderNames(text: string): Parsed<readonly string[]> {
  const names = text.split(',').map((name) => name.trim())
  if (names.length > MAX_PROVIDERS) return { error: `should be at most ${MAX_PROVIDERS} names, has ${names.length}` }
  const wrong = names.find((name, index) => !NAME.test(name) || RESERVED.includes(name) || names.indexOf(name) < index)
  if (wrong === undefined) return { value: names }
  return {
    error: `should be different names of a-z and 0-9 that begin with a letter, separated by commas, such as google,github; "${wrong}" is not one`,
  }
}

/** Reads the settings of each provider; adds a line for each that is wrong, missing or unknown. */
export function providersOf(names: readonly string[], env: Environment, errors: string[]): readonly ProviderSettings[] {
  const known = new Set(names.flatMap((name) => PART_NAMES.map((part) => providerSetting(name, part))))
  for (const name of Object.keys(env))
    if (name.startsWith(PREFIX) && env[name] && !known.has(name)) errors.push(`${name}: ${unknownReason(name, names)}`)
  return names.map((name) => Object.freeze(providerOf(name, env, errors)))
}

function providerOf(name: string, env: Environment, errors: string[]): ProviderSettings {
  const builtIn = BUILT_IN[name]
  const read = (part: PartName, standard?: string): string => {
    const setting = providerSetting(name, part)
    const text = env[setting]
    // `NAME=` in a file means "not set".
    if (!text) {
      if (standard === undefined) errors.push(`${setting}: is required with ${name} in SIGN_IN_PROVIDERS`)
      return standard ?? ''
    }
    const parsed = PROVIDER_PARTS[part].parse(text)
    if ('value' in parsed) return parsed.value
    errors.push(`${setting}: ${parsed.error}`)
    return ''
  }
  return {
    name,
    kind: builtIn?.kind ?? 'oidc',
    clientId: read('CLIENT_ID'),
    clientSecret: read('CLIENT_SECRET'),
    issuer: read('ISSUER', builtIn?.issuer),
    label: read('LABEL', builtIn?.label),
  }
}

function unknownReason(name: string, names: readonly string[]): string {
  const part = PART_NAMES.find((one) => name.endsWith(`_${one}`))
  const provider = part && name.slice(PREFIX.length, -part.length - 1).toLowerCase()
  if (provider === undefined || names.includes(provider)) return `is unknown; a setting of a provider ends in ${PART_NAMES.join(', ')}`
  return `is only used together with ${provider} in SIGN_IN_PROVIDERS`
}

function parseIssuer(text: string): Parsed<string> {
  const url = plainUrl(text)
  if (url !== undefined && (url.protocol === 'https:' || isLoopbackHostHeader(url.host))) return { value: text }
  return { error: 'should be an https:// URL without user, query and fragment, or http:// on this machine' }
}
