// The types that @latchkey/client shares with the service: the schemas of the calls that it makes, and the codes of their errors.
import openapiTS from 'openapi-typescript'

/** The calls of the client, by their names in the OpenAPI document. */
const CALLS = [
  'register',
  'login',
  'refresh',
  'logout',
  'verify',
  'resendVerification',
  'forgotPassword',
  'resetPassword',
  'getOwnProfile',
  'editOwnAccount',
  'changeOwnPassword',
  'listUsers',
  'createUser',
  'searchUsers',
  'editUser',
  'changePassword',
  'makeAdmin',
  'revokeAdmin',
  'verifyUser',
  'banUser',
  'unbanUser',
  'deleteUser',
  'listApiKeysOfUser',
  'createApiKeyOfUser',
  'updateApiKeyOfUser',
  'deleteApiKeyOfUser',
  'listApiKeys',
  'createApiKey',
  'getApiKey',
  'updateApiKey',
  'rotateApiKey',
  'deleteApiKey',
  'listOwnSessions',
  'revokeOwnSession',
  'revokeOtherSessions',
  'loginSecondStep',
  'exchangeCode',
  'confirmSession',
  'getSecondFactor',
  'beginTotp',
  'confirmTotp',
  'removeTotp',
  'renewRecoveryCodes',
  'passkeyLoginOptions',
  'passkeyLogin',
  'passkeyCreationOptions',
  'addPasskey',
  'listPasskeys',
  'renamePasskey',
  'removePasskey',
  'checkIdentity',
  'getKeySet',
]

/** Errors of requests that reach no endpoint, and of proxies, which the document does not have. */
const OTHER_CODES = [
  'bad_request',
  'path_not_found',
  'method_not_allowed',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
  'uri_too_long',
  'not_implemented',
  'bad_gateway',
  'gateway_timeout',
  'http_version_not_supported',
]

type Json = { readonly [name: string]: Json } | readonly Json[] | string | number | boolean | null

type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly responses: Readonly<Record<string, object>> }
}

/** The source text of the types. */
export async function clientTypes(document: Document): Promise<string> {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  const used = operations.filter(({ operationId }) => CALLS.includes(operationId))
  if (used.length !== CALLS.length) throw new Error('a call of the client is not in the OpenAPI document')
  const parts = reachable(used, document)
  const schemas = Object.fromEntries([...parts.schemas].sort().map((name) => [name, document.components.schemas[name]]))
  const reduced = { openapi: '3.1.1', info: { title: 'Latchkey', version: '1' }, paths: {}, components: { schemas } }
  // The reduced document has the structure of the whole one, which this package types more narrowly than JSON.
  const types = await openapiTS(reduced as Parameters<typeof openapiTS>[0], { commentHeader: '', defaultNonNullable: true })
  const codes = [...new Set([...parts.codes, ...OTHER_CODES])].sort()
  return [
    '// Made from /openapi.json by `npm run client:types`: do not edit.\n',
    types.slice(types.indexOf('export interface components'), types.indexOf('export type $defs')),
    "export type Schemas = components['schemas']",
    "export type ValidationIssue = Schemas['ValidationIssue']",
    '/** The codes that calls of this package may meet. */',
    `export type ServiceErrorCode =\n${codes.map((code) => `  | '${code}'`).join('\n')}\n`,
  ].join('\n')
}

/** The names of all schemas that these parts refer to, and the error codes in them. */
function reachable(parts: unknown, document: Document): { schemas: Set<string>; codes: Set<string> } {
  const schemas = new Set<string>()
  const codes = new Set<string>()

  function visit(part: Json | undefined): void {
    if (typeof part !== 'object' || part === null) return
    for (const [name, value] of Object.entries(part)) {
      if (name === '$ref') follow(String(value))
      else if (name === 'X-Error-Code') note(value)
      else visit(value)
    }
  }

  function note(header: unknown): void {
    for (const code of (header as { schema: { enum: string[] } }).schema.enum) codes.add(code)
  }

  function follow(reference: string): void {
    const [, kind = '', name = ''] = /^#\/components\/(schemas|responses)\/(.+)$/.exec(reference) ?? []
    if (kind === 'responses') visit(document.components.responses[name] as Json)
    if (kind !== 'schemas' || schemas.has(name)) return
    schemas.add(name)
    visit(document.components.schemas[name] as Json)
  }

  visit(parts as Json)
  return { schemas, codes }
}
