import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANSWERS, type Answer, type ErrorCode } from '../../src/http/answers/answers.ts'
import { COMMON_CODES } from '../../src/http/answers/replies.ts'
import { MESSAGES } from '../../src/http/validation/validation-error.ts'
import { REFUSALS } from '../../src/model/refusal.ts'
import { listsExactly, read, rows } from '../support/documents.ts'
import { operationsOf, readApiDocument } from '../support/http/openapi.ts'
import { EVERY_ROUTE } from '../support/http/routes.ts'

const PAGE = 'docs/errors.md'
const TABLE = new Map<string, Answer>(
  Object.entries<Answer>(ANSWERS).flatMap(([name, answer]) => (name === answer.code ? [[name, answer]] : [])),
)
const CREDENTIALS: readonly string[] = COMMON_CODES[401]
const ACCESS: readonly string[] = [...CREDENTIALS, 'not_permitted', 'second_factor_required']
/** The names that stand for several codes in a row, the longest list first. */
const GROUPS: readonly (readonly [name: string, codes: readonly string[]])[] = [
  ['*access*', ACCESS],
  ['*credentials*', CREDENTIALS],
]
// Codes that the page lists once for all endpoints.
const LISTED_ONCE: readonly ErrorCode[] = ['invalid_request', 'internal_error', 'body_too_large', 'unavailable']
const NEVER_UNAVAILABLE: readonly string[] = ['/metrics', '/heartbeat', '/dev/mail', '/', '/docs', '/redoc', '/openapi.json']
const BEFORE_ROUTING: readonly ErrorCode[] = [
  'bad_request',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
  'method_not_allowed',
]

/** The rows of a table of the page, such as `401 token_expired That token has Expired`. */
function documentedErrors(heading: string): string[] {
  return rows(PAGE, heading).map(([status, detail, code]) => `${status} ${code} ${status === '422' ? '' : detail}`)
}

function errorText({ status, code, detail }: Answer): string {
  return `${status} ${code} ${status === 422 ? '' : detail}`
}

const REFUSED = new Set<string>(Object.keys(REFUSALS))

test('docs/errors.md lists every error with its status, its detail and its code, and no other', () => {
  const row = ({ status, detail, code, when }: Answer) =>
    `| ${status} | ${status === 422 ? 'a list, see [422](#422)' : `\`${detail}\``} | \`${code}\` | ${when} |`
  const all = [...TABLE.values()]
  listsExactly(PAGE, 'Refusals', all.filter(({ code }) => REFUSED.has(code)).map(row))
  listsExactly(PAGE, 'Other errors', all.filter(({ code }) => !REFUSED.has(code)).map(row))
})

test('docs/errors.md lists every type of validation error', () => {
  for (const { type } of Object.values(MESSAGES)) assert.ok(read(PAGE).includes(`\`${type}\``), `${type} is missing`)
})

test('docs/errors.md lists the codes of each endpoint, and no others', async (t) => {
  const expected = operationsOf(await readApiDocument(t, EVERY_ROUTE)).map(({ method, path, responses }) => {
    const codes = Object.values(responses).flatMap(({ headers }) => (headers?.['X-Error-Code']?.schema.enum ?? []) as string[])
    assert.equal(codes.includes('body_too_large'), method !== 'GET', `${method} ${path}`)
    assert.equal(codes.includes('unavailable'), !NEVER_UNAVAILABLE.includes(path), `${method} ${path}`)
    const own = codes.filter((code) => !LISTED_ONCE.some((common) => common === code))
    const group = GROUPS.find(([, members]) => members.every((code) => own.includes(code)))
    const cells = [...(group?.slice(0, 1) ?? []), ...own.filter((code) => !group?.[1].includes(code)).map((code) => `\`${code}\``)]
    return `| \`${method} ${path}\` | ${cells.join(', ') || 'none'} |`
  })
  listsExactly(PAGE, 'Codes of each endpoint', expected)
  assert.ok(read(PAGE).includes(`*credentials* stands for ${CREDENTIALS.map((code) => `\`${code}\``).join(', ')}.`))
  assert.ok(read(PAGE).includes(`every path but ${NEVER_UNAVAILABLE.map((path) => `\`${path}\``).join(', ')} \`unavailable\``))
  assert.ok(read(PAGE).includes('*access* stands for these and `not_permitted`, `second_factor_required`.'))
})

test('every error of the OpenAPI document has a code of its status, and every code is documented', async (t) => {
  const seen = new Set<string>(BEFORE_ROUTING)
  for (const { operation, responses } of operationsOf(await readApiDocument(t, EVERY_ROUTE))) {
    for (const [status, { headers, content }] of Object.entries(responses)) {
      const place = `${operation.operationId} ${status}`
      const codes = headers?.['X-Error-Code']?.schema.enum as string[] | undefined
      if (Number(status) < 400) {
        assert.equal(codes, undefined, place)
        continue
      }
      assert.ok(codes !== undefined && codes.length > 0, place)
      for (const code of codes) {
        assert.ok(
          Object.values(ANSWERS).some((answer) => answer.code === code && answer.status === Number(status)),
          `${place} ${code}`,
        )
        seen.add(code)
      }
      // The examples of a 422 are named after what is wrong.
      if (status !== '422') assert.deepEqual(Object.keys(content?.['application/json']?.examples ?? {}), codes, place)
    }
  }
  assert.deepEqual([...seen].sort(), [...TABLE.keys()].sort())
})

/** The errors in a configuration, such as `429 too_many_requests Too many requests`. */
function nginxErrors(): string[] {
  const map = (variable: string) => {
    const block = new RegExp(`map \\$status \\$${variable} \\{([^}]*)\\}`).exec(read('deploy/nginx.conf'))?.[1] ?? ''
    return new Map([...block.matchAll(/^ *(\w+) "?([^";]+)"?;$/gm)].map(([, status = '', value = '']) => [status, value]))
  }
  const codes = map('latchkey_error_code')
  // nginx has no row for 400: it is the default.
  return [...map('latchkey_detail')].map(([status, detail]) => `${status === 'default' ? 400 : status} ${codes.get(status)} ${detail}`)
}

function haproxyErrors(): string[] {
  const line = /http-error status (\d+) .* '\{"detail":"([^"]*)"\}' hdr X-Error-Code (\w+)/g
  return [...read('deploy/haproxy.cfg').matchAll(line)].map(([, status, detail, code]) => `${status} ${code} ${detail}`)
}

test('the errors of both proxies have the codes that docs/errors.md lists, one for each detail', () => {
  const own = documentedErrors('Errors of a proxy')
  const known = new Set([...TABLE.values()].map(errorText).concat(own))
  const inNginx = nginxErrors()
  const inHaproxy = haproxyErrors()
  assert.deepEqual([inNginx.length, inHaproxy.length], [14, 6])
  for (const error of [...inNginx, ...inHaproxy]) assert.ok(known.has(error), error)
  for (const error of own) assert.ok(inNginx.includes(error), `${error} is not in nginx.conf`)
})
