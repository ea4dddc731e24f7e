import { setTimeout as sleep } from 'node:timers/promises'
import { check, mailCheck, NotApplicable } from '../../check.ts'
import type { Answer } from '../../client.ts'
import type { Context } from '../../context.ts'
import { expectEqual, expectRefusal, expectStatus, expectThat, expectType, Mismatch } from '../../expect.ts'
import { shapedText } from '../../tokens.ts'

type Sample = { readonly name: string; readonly labels: Readonly<Record<string, string>>; readonly value: number }

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g
const NAMESPACE = /^(\w+)_http_requests_total$/
const ATTEMPTS = 20
const PAUSE_MS = 100

/** The metrics of the specification with their types. */
const TYPES: Readonly<Record<string, string>> = {
  http_requests_total: 'counter',
  http_request_duration_highr_seconds: 'histogram',
  http_requests_inprogress: 'gauge',
  http_request_size_bytes: 'summary',
  http_response_size_bytes: 'summary',
  auth_failures_total: 'counter',
  api_key_validations_total: 'counter',
  login_attempts_total: 'counter',
}

async function read({ call }: Context): Promise<{ answer: Answer; samples: readonly Sample[]; namespace: string }> {
  await call('GET', '/docs')
  const answer = await call('GET', '/metrics')
  if (answer.status === 404) throw new NotApplicable('metrics are disabled')
  expectStatus(answer, 200)
  const samples = answer.text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => parse(line, answer))
  const namespace = samples.map(({ name }) => NAMESPACE.exec(name)?.[1]).find((found) => found !== undefined)
  if (namespace === undefined) throw new Mismatch('a metric {api_title}_http_requests_total', 'none', answer)
  return { answer, samples, namespace }
}

function parse(line: string, answer: Answer): Sample {
  const [, name, labels = '', value = ''] = LINE.exec(line.trim()) ?? []
  const number = Number(value.replace('Inf', 'Infinity'))
  if (name === undefined || (Number.isNaN(number) && value !== 'NaN')) throw new Mismatch('the text format of metrics', line, answer)
  return { name, labels: Object.fromEntries([...labels.matchAll(LABEL)].map(([, label = '', text = '']) => [label, text])), value: number }
}

/** Asserts that something that happens is counted. Repeated, because several processes may share an address. */
async function expectCounted(
  context: Context,
  metric: string,
  labels: readonly string[],
  happen: () => Promise<unknown>,
  only: Readonly<Record<string, string>> = {},
): Promise<void> {
  const total = async () => {
    const { samples, namespace } = await read(context)
    const mine = samples.filter(
      ({ name, labels: own }) => name === `${namespace}_${metric}` && Object.entries(only).every(([label, text]) => own[label] === text),
    )
    return { sum: mine.reduce((sum, { value }) => sum + value, 0), mine }
  }
  const before = await total()
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await happen()
    const { sum, mine } = await total()
    if (sum > before.sum) {
      const missing = labels.filter((label) => !mine.every(({ labels: own }) => label in own))
      return expectEqual(`missing labels of ${metric}`, missing, [])
    }
    await sleep(PAUSE_MS)
  }
  throw new Mismatch(`${metric} counts it`, `${before.sum} before and after`)
}

export const METRICS_CHECKS = [
  check('metrics.status', '4.5', 'GET /metrics returns text/plain, or 404 where metrics are disabled', async ({ call }) => {
    const answer = await call('GET', '/metrics', { as: { token: 'garbage' } })
    if (answer.status === 404) return expectRefusal(answer, 404)
    expectStatus(answer, 200)
    expectType(answer, 'text/plain')
  }),
  check('metrics.format', '4.5', 'every line is in the text format of metrics', async (context) => {
    expectThat((await read(context)).samples.length > 0, 'samples', 'none')
  }),
  ...Object.entries(TYPES).map(([metric, type]) =>
    check(`metrics.${metric.replaceAll('_', '-')}`, '4.5 rule 3', `{api_title}_${metric} is a ${type}`, async (context) => {
      const { answer, namespace } = await read(context)
      const declared = new RegExp(`^# TYPE ${namespace}_${metric}(?:_total)? (\\w+)$`, 'm').exec(answer.text)?.[1]
      // In OpenMetrics and some libraries, the name of a counter is declared without _total.
      const short = new RegExp(`^# TYPE ${namespace}_${metric.replace(/_total$/, '')} (\\w+)$`, 'm').exec(answer.text)?.[1]
      expectEqual('the type', declared ?? short, type, answer)
    }),
  ),
  check('metrics.requests-labels', '4.5 rule 3', 'requests are counted by handler, method and status, grouped as 2xx', async (context) => {
    await expectCounted(context, 'http_requests_total', ['handler', 'method', 'status'], () => context.call('GET', '/redoc'), {
      method: 'GET',
      status: '2xx',
    })
  }),
  check('metrics.errors', '4.5 rule 3', 'refused requests are counted as 4xx', async (context) => {
    await expectCounted(context, 'http_requests_total', ['handler', 'method', 'status'], () => context.call('GET', '/users/me'), {
      status: '4xx',
    })
  }),
  check('metrics.histogram', '4.5 rule 3', 'the duration has _bucket with le, _sum and _count', async (context) => {
    const { samples, namespace, answer } = await read(context)
    const name = `${namespace}_http_request_duration_highr_seconds`
    const parts = ['_bucket', '_sum', '_count'].filter((part) => samples.some((sample) => sample.name === name + part))
    expectEqual('the series', parts, ['_bucket', '_sum', '_count'], answer)
    expectThat(
      samples.some((sample) => sample.name === `${name}_bucket` && sample.labels['le'] === '+Inf'),
      'a bucket with le="+Inf"',
      'none',
      answer,
    )
  }),
  check('metrics.excluded', '4.5 rule 2', '/metrics and /heartbeat are not in the request metrics', async (context) => {
    await context.call('GET', '/heartbeat')
    const { samples, namespace, answer } = await read(context)
    const counted = samples.filter(
      ({ name, labels }) => name === `${namespace}_http_requests_total` && /^\/(?:metrics|heartbeat)\/?$/.test(labels['handler'] ?? ''),
    )
    expectEqual('counters of /metrics and /heartbeat', counted.length, 0, answer)
  }),
  check('metrics.auth-failure', '4.5 rule 3', 'an invalid token is counted, with method and reason', async (context) => {
    await expectCounted(context, 'auth_failures_total', ['method', 'reason'], () =>
      context.call('GET', '/users/me', { as: { token: shapedText(200) } }),
    )
  }),
  check('metrics.key-validation', '4.5 rule 3', 'API keys are counted by status', async (context) => {
    await expectCounted(context, 'api_key_validations_total', ['status'], () => context.call('GET', '/users/me', { as: context.operator }))
  }),
  check('metrics.login-failure', '4.5 rule 3', 'failed logins are counted by status', async (context) => {
    await expectCounted(context, 'login_attempts_total', ['status'], () =>
      context.logIn({ email: context.address(), password: context.password() }),
    )
  }),
  mailCheck('metrics.login-success', '4.5 rule 3', "logins are counted with status 'success'", async (context) => {
    const member = await context.shared.member()
    await expectCounted(context, 'login_attempts_total', ['status'], () => context.logIn(member), { status: 'success' })
  }),
]
