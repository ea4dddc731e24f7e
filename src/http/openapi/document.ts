import { type AcceptedKeys, type Access, acceptedKeysOf, type Declared } from '../pipeline/declarations.ts'
import { createResponses } from './responses.ts'
import { type Components, createComponents, type DeclaredSchema, sampleOf } from './schemas.ts'

/** The sections of the documentation, in the order in which a new reader needs them. */
const TAGS = [
  { name: 'Accounts', description: 'Register, verify the address, log in, stay logged in, log out.' },
  { name: 'Password reset', description: 'Set a new password with a link that is sent by mail.' },
  { name: 'Users', description: 'Read and change your own account.' },
  { name: 'Sessions', description: 'See where your account is logged in, and end sessions.' },
  { name: 'Second factor', description: 'Show that it is you, and ask for more than a password.' },
  { name: 'Passkeys', description: 'Sign in without a password, where the address of the service allows it.' },
  { name: 'User administration', description: 'Read and change all accounts, as an admin.' },
  {
    name: 'API keys',
    description: 'Credentials for programs. They have the permissions of their owner, unless their access is limited, and may expire.',
  },
  { name: 'Identity', description: 'Who is calling, for the other services of a product.' },
  { name: 'Sessions of users', description: 'The sessions of any user, for admins.' },
  { name: 'API keys of users', description: 'The keys of any user, for admins.' },
  { name: 'Audit trail', description: 'What was changed, by whom and from where, for admins.' },
  { name: 'Service', description: 'The state of the service, and its documentation.' },
] as const

export type Tag = (typeof TAGS)[number]['name']

declare module 'fastify' {
  interface FastifySchema {
    /** The name of the operation in generated clients. It never changes. */
    operationId?: string
    summary?: string
    description?: string
    tags?: readonly [Tag]
    /** Browsers and forms get pages with the same statuses. */
    page?: boolean
    /** Not part of the API, such as the files of an explorer. */
    hide?: boolean
  }
}

export type DocumentOptions = { readonly apiTitle: string; readonly version: string; readonly baseUrl: string }

const SECURITY_SCHEMES = {
  jwt: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'The `token` of a registration, a login or a refresh. It is valid for 120 minutes. If an API key is sent as well, the token decides.',
  },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The `key` of a new or rotated API key.' },
}

/** The API keys that an endpoint accepts, where that is not the rule: full access for what changes something. */
const KEYS: Readonly<Record<AcceptedKeys, string>> = {
  full: '',
  read: 'Also accepts API keys with `read` access.',
  identify: 'Also accepts API keys with `identify` access.',
  any: 'Accepts every API key, whatever its access.',
  none: 'Accepts no API key: it needs a session.',
}

const WHO: Readonly<Record<Access, string>> = {
  public: '',
  user: '',
  self: 'For the user in the path, and for admins.',
  admin: 'For admins.',
}

const ABOUT = `Accounts and API keys over HTTP and JSON.

**Credentials.** Log in and send the \`token\` as \`Authorization: Bearer …\`, or create an API key and send it as \`X-API-Key: …\`.
An account can be used once its e-mail address is verified.

**Errors.** Every error is \`{"detail": …}\`: a message, or for 422 a list of validation issues. Unknown fields are ignored. A browser, which sends \`Accept: text/html\`, gets a page for 404, 405, 500 and 503.

 **Paths.** Every path also works under \`/api/v1\`, with or without a trailing slash.
The header \`X-Request-Id\` of each response identifies the request in the log of the service.`

/** Describes the routes as OpenAPI. */
export function describeApi(routes: readonly Declared[], { apiTitle, version, baseUrl }: DocumentOptions): object {
  const components = createComponents()
  const responses = createResponses(components)
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes.filter(({ schema }) => !schema.hide)) {
    const { url, schema } = route
    const [method] = [route.method].flat()
    const path = url.replace(/:(\w+)/g, '{$1}')
    const described = { ...describeOperation(route, components), responses: responses.describe(schema) }
    paths[path] = { ...paths[path], [String(method).toLowerCase()]: described }
  }
  return {
    openapi: '3.1.1',
    info: { title: apiTitle, version, description: ABOUT, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: baseUrl }],
    tags: TAGS,
    paths,
    components: { schemas: sortKeys(components.schemas), responses: sortKeys(responses.shared), securitySchemes: SECURITY_SCHEMES },
  }
}

function describeOperation(route: Declared, components: Components): object {
  const { schema, config } = route
  const { operationId, summary, tags, params, querystring } = schema
  const body = schema.body as DeclaredSchema | undefined
  const texts = [schema.description, KEYS[acceptedKeysOf(route) ?? 'full'], WHO[config.access]]
  const parameters = [...describeParameters('path', params, components), ...describeParameters('query', querystring, components)]
  return {
    tags,
    operationId,
    summary,
    description: texts.filter((text) => text !== '').join('\n\n'),
    security: config.access === 'public' ? [] : [{ jwt: [] }, { apiKey: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: !body.mayBeAbsent, content: describeBody(body, components) } }),
  }
}

function describeParameters(place: 'path' | 'query', declared: unknown, components: Components): object[] {
  const { properties = {}, required = [] } = (declared ?? {}) as DeclaredSchema
  return Object.entries(properties).map(([name, schema]) => {
    const { description, examples, ...rest } = schema
    return { name, in: place, required: required.includes(name), description, schema: components.refer(rest), example: sampleOf(schema) }
  })
}

/** A route accepts JSON, unless it lists the content types that it accepts. */
function describeBody(body: DeclaredSchema, components: Components): object {
  const content = body.content ?? { 'application/json': { schema: body } }
  return Object.fromEntries(
    Object.entries(content).map(([type, { schema }]) => [type, { schema: components.refer(schema), example: sampleOf(schema) }]),
  )
}

function sortKeys(record: Readonly<Record<string, object>>): Record<string, object> {
  return Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)))
}
