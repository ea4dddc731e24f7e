import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { jsonReply, startMutatingProxy } from '../../packages/conformance/defects/mutating-proxy.ts'
import { type Check, check, choice } from '../../packages/conformance/src/check.ts'
import { createClient, Unanswered } from '../../packages/conformance/src/client.ts'
import { reportJunit } from '../../packages/conformance/src/junit.ts'
import { createMasking } from '../../packages/conformance/src/masking.ts'
import { reportJson, reportText } from '../../packages/conformance/src/report.ts'
import type { Result, Run } from '../../packages/conformance/src/run.ts'
import { render } from '../../src/cli/terminal/output.ts'
import { serve } from '../support/servers/listen.ts'

const nothing = async () => undefined
const exchange = { request: 'POST /login/ {"password":"<password>"}', response: '500 text/plain <b>"broken" & \u0000\u001b[31m</b>' }

function result(declared: Check, rest: Omit<Result, 'check' | 'durationMs'>): Result {
  return { check: declared, durationMs: 12.3, ...rest }
}

const RUN: Run = {
  url: 'http://127.0.0.1:8000',
  results: [
    result(check('login.status', '4.1 rule 2', 'a login is answered with 200', nothing), { outcome: 'passed' }),
    result(check('login.<odd>', '4.1', 'a "title" & more', nothing), {
      outcome: 'failed',
      expected: 'status 200',
      received: 'status 500',
      exchange,
    }),
    result(choice('search.case', '4.3', 'case does not matter', nothing), { outcome: 'differs', expected: 'one', received: 'none' }),
    result(check('metrics.format', '4.5', 'lines', nothing), { outcome: 'skipped', reason: 'metrics are disabled' }),
  ],
  durationMs: 1234,
  accounts: { created: 3, left: [] },
}

test('the text names each failure with its section, what was expected, what came, the request and the response', () => {
  const lines = reportText(RUN).map((line) => render(line, { isColoured: false }))
  assert.deepEqual(lines, [
    'http://127.0.0.1:8000: 4 checks',
    '',
    'failed   login           1 of 2',
    '  failed  login.<odd>  (§4.1, Account endpoints) a "title" & more',
    '         expected  status 200',
    '         received  status 500',
    '         request   POST /login/ {"password":"<password>"}',
    '         response  500 text/plain <b>"broken" & \\x00\\x1b[31m</b>',
    'differs  search          0 of 1',
    '  differs  search.case  (§4.3, User management) case does not matter',
    '         expected  one',
    '         received  none',
    'skipped  metrics         0 of 1',
    '',
    'skipped (metrics are disabled): metrics.format',
    '',
    '1 passed, 1 failed, 1 differ, 1 skipped in 1.2 s; 3 accounts created, all removed',
  ])
})

test('JSON has the counts, and every check with its section and its outcome', () => {
  const { checks, ...rest } = reportJson(RUN) as { checks: Record<string, unknown>[] }
  assert.deepEqual(rest, {
    url: RUN.url,
    conforms: false,
    duration_ms: 1234,
    passed: 1,
    failed: 1,
    differs: 1,
    skipped: 1,
    accounts_created: 3,
    accounts_left: [],
  })
  assert.deepEqual(checks[1], {
    id: 'login.<odd>',
    area: 'login',
    section: '4.1',
    title: 'a "title" & more',
    level: 'specified',
    needs_mailbox: false,
    outcome: 'failed',
    duration_ms: 12,
    expected: 'status 200',
    received: 'status 500',
    ...exchange,
  })
})

/** The names of the elements, in order. Throws unless every element is closed and every value is escaped. */
function elementsOf(xml: string): string[] {
  const open: string[] = []
  const names: string[] = []
  const body = xml.replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n/, '')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML forbids
  assert.doesNotMatch(body, /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/)
  const rest = body.replace(
    /<(\/?)([a-z-]+)((?: [a-z]+="[^"<]*")*)(\/?)>/g,
    (_, close: string, name: string, attributes: string, empty: string) => {
      assert.doesNotMatch(attributes, /&(?!amp;|lt;|gt;|quot;|apos;)/)
      if (close) assert.equal(open.pop(), name)
      else names.push(name)
      if (!close && !empty) open.push(name)
      return ''
    },
  )
  assert.doesNotMatch(rest, /[<>]|&(?!amp;|lt;|gt;|quot;|apos;)/)
  assert.deepEqual(open, [])
  return names
}

test('JUnit is well-formed, whatever an implementation answers', () => {
  const xml = reportJunit(RUN)
  assert.deepEqual(elementsOf(xml), [
    'testsuites',
    ...['testsuite', 'testcase', 'testcase', 'failure'],
    ...['testsuite', 'testcase', 'system-out'],
    ...['testsuite', 'testcase', 'skipped'],
  ])
  assert.match(xml, /<testsuites name="conformance" tests="4" failures="1" errors="0" skipped="1" time="[\d.]+">/)
  assert.ok(xml.includes('500 text/plain &lt;b&gt;&quot;broken&quot; &amp; \\x00\\x1b[31m&lt;/b&gt;'), xml)
  assert.match(xml, /<failure message="expected status 200, received status 500" type="specified">§4\.1, Account endpoints/)
})

test('JUnit names accounts that could not be removed as a failure', () => {
  const xml = reportJunit({ ...RUN, accounts: { created: 3, left: ['a&b@example.com'] } })
  assert.deepEqual(elementsOf(xml).slice(-3), ['testsuite', 'testcase', 'failure'])
  assert.match(xml, /could not be removed: a&amp;b@example\.com/)
})

/** A server that answers with these statuses in turn, and then with 200. */
async function startServer(
  t: TestContext,
  ...answers: readonly (readonly [status: number, retryAfter?: string])[]
): Promise<{ url: string; count(): number }> {
  let count = 0
  const { url } = await serve(t, (_, response) => {
    const [status, retryAfter] = answers[count++] ?? [200]
    response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end('{}')
  })
  return { url, count: () => count }
}

const checkpoint = () => undefined

test('429 and 503 with Retry-After are waited for, and other errors are answers', async (t) => {
  const limited = await startServer(t, [429, '0'], [503, new Date().toUTCString()], [500])
  const client = createClient({ url: limited.url, masking: createMasking(), checkpoint })
  assert.equal((await client.call('GET', '/')).status, 500)
  assert.equal(limited.count(), 3)
})

test('a limit that asks for more patience than a run has is an error that says so', async (t) => {
  const limited = await startServer(t, [429, '3600'])
  const client = createClient({ url: limited.url, masking: createMasking(), checkpoint })
  await assert.rejects(
    client.call('POST', '/login/'),
    new Unanswered('POST /login/ answers 429, and asks to wait 3600 s; lift its limits for the run'),
  )
})

test('passwords, tokens and keys are masked in what a report shows', async (t) => {
  const { url } = await startServer(t)
  const client = createClient({ url, masking: createMasking(), checkpoint })
  const as = { token: 'secret-token', key: 'secret-key' }
  const answer = await client.call('POST', '/x', {
    as,
    json: { password: 'secret-password', name: 'Mia' },
    query: { code: 'secret-code' },
  })
  assert.equal(
    answer.exchange().request,
    'POST /x?code=<code>; authorization: Bearer <token>; x-api-key: <key> {"password":"<password>","name":"Mia"}',
  )
})

test('a secret that reaches beyond the excerpt of a request or a response is masked as a whole', async (t) => {
  const url = await startMutatingProxy(t, '', '', async ({ json }) => jsonReply(200, json))
  const client = createClient({ url, masking: createMasking(), checkpoint })
  const name = 'n'.repeat(565)
  const { request, response } = (await client.call('POST', '/x', { json: { name, password: 'secret-password' } })).exchange()
  const masked = `{"name":"${name}","password":"<password>"}`
  assert.deepEqual([request, response], [`POST /x ${masked}`, `200 application/json ${masked}`])
})

test('a secret in a form is masked', async (t) => {
  const { url } = await startServer(t)
  const client = createClient({ url, masking: createMasking(), checkpoint })
  const answer = await client.call('POST', '/x', { form: { new_password: 'A1! secret', name: 'Mia' } })
  assert.equal(answer.exchange().request, 'POST /x new_password=<new_password>&name=Mia')
})

test('a key that cannot be sent is not quoted', async (t) => {
  const { url, count } = await startServer(t)
  const client = createClient({ url, masking: createMasking(), checkpoint })
  const expected = /^GET \/x was not answered: [^\n]*"<key>" is an invalid header value\.?$/
  await assert.rejects(client.call('GET', '/x', { as: { key: ' secret\nkey ' } }), { name: 'Unanswered', message: expected })
  assert.equal(count(), 0)
})
