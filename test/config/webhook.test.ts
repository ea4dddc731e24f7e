import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, type Environment, loadConfig } from '../../src/config/load.ts'
import { WEBHOOK_TYPES } from '../../src/model/webhook.ts'
import { generateWebhookSecret } from '../../src/security/secret-key.ts'

const URL_TEXT = 'https://hooks.example.com/latchkey?token=canary'
const SECRET = 'whsec_kL7aPz0nT2wVbXq5Jc8dRfYgHs3uMe1o'
const OTHER = 'whsec_Qm9vT3JkZXJzQXJlTm90VGhlT25lc1lvdVdhbnQ='
const ADVICE = 'create one with `npm run latchkey -- secret generate --webhook`'
const SHAPE = `should be whsec_ and base64 with its padding; ${ADVICE}`

function webhookOf(env: Environment) {
  return loadConfig({ WEBHOOK_URL: URL_TEXT, WEBHOOK_SECRET: SECRET, ...env }).webhook
}

function errorsOf(env: Environment): readonly string[] {
  try {
    loadConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.errors
  }
  return []
}

function errorsWith(env: Environment): readonly string[] {
  return errorsOf({ WEBHOOK_URL: URL_TEXT, WEBHOOK_SECRET: SECRET, ...env })
}

test('the URL keeps its path and query, and is named by a digest', () => {
  const webhook = webhookOf({})
  assert.equal(webhook?.url, URL_TEXT)
  assert.match(webhook?.endpoint ?? '', /^[0-9a-f]{64}$/)
  assert.notEqual(webhook?.endpoint, webhookOf({ WEBHOOK_URL: 'https://hooks.example.com/' })?.endpoint)
  for (const url of ['http://127.0.0.1:3000/', 'http://10.0.0.7/hooks', 'https://[::1]:8443/', 'http://receiver/'])
    assert.equal(webhookOf({ WEBHOOK_URL: url })?.url, url)
})

test('WEBHOOK_URL may be no other kind of URL, and no error repeats it', () => {
  const bad = [
    'hooks.example.com',
    'ftp://hooks.example.com',
    'https://',
    'https:hooks.example.com',
    'http:\\\\a',
    'https://a/#canary',
    'https://a/ b',
  ]
  for (const text of bad)
    assert.deepEqual(errorsWith({ WEBHOOK_URL: text }), ['WEBHOOK_URL: should be an http:// or https:// URL without fragment'], text)
  for (const text of ['https://user:canary@a/', 'https://user@a/'])
    assert.deepEqual(errorsWith({ WEBHOOK_URL: text }), [
      'WEBHOOK_URL: should be without user and password; the signature proves the sender, and a token may be part of the path or query',
    ])
})

test('WEBHOOK_SECRET has one to four secrets', () => {
  assert.deepEqual(webhookOf({})?.secrets, [new Uint8Array(Buffer.from(SECRET.slice(6), 'base64'))])
  assert.equal(webhookOf({ WEBHOOK_SECRET: ` ${OTHER}  ${SECRET} ` })?.secrets.length, 2)
  assert.equal(webhookOf({ WEBHOOK_SECRET: generateWebhookSecret() })?.secrets[0]?.length, 32)
})

test('each secret that cannot be used is one line, without its value', () => {
  const bad: Readonly<Record<string, string>> = {
    [SECRET.slice(6)]: SHAPE,
    whsec_: `should be at least 24 bytes, has 0; ${ADVICE}`,
    [`${SECRET}A`]: SHAPE,
    [OTHER.slice(0, -1)]: SHAPE,
    [`whsec_${SECRET.slice(6).replace('7', '-')}`]: SHAPE,
    whsec_c2hvcnQgc2VjcmV0IGhlcmU: SHAPE,
    'whsec_c2hvcnQgc2VjcmV0IGhlcmU=': `should be at least 24 bytes, has 17; ${ADVICE}`,
    [`whsec_${'A'.repeat(32)}`]: `is a sample or can be guessed; ${ADVICE}`,
    whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw: `is a sample or can be guessed; ${ADVICE}`,
  }
  for (const [text, error] of Object.entries(bad))
    assert.deepEqual(errorsWith({ WEBHOOK_SECRET: text }), [`WEBHOOK_SECRET: ${error}`], text)
  assert.deepEqual(errorsWith({ WEBHOOK_SECRET: `${SECRET} canary ${SECRET} ${OTHER}` }), [
    `WEBHOOK_SECRET: secret 2 of 4 ${SHAPE}`,
    'WEBHOOK_SECRET: secret 3 of 4 is listed twice',
  ])
  assert.deepEqual(errorsWith({ WEBHOOK_SECRET: Array.from({ length: 5 }, generateWebhookSecret).join(' ') }), [
    'WEBHOOK_SECRET: should be at most 4 secrets, separated by spaces, has 5',
  ])
})

test('WEBHOOK_EVENTS is all, or some of the types', () => {
  assert.deepEqual(webhookOf({})?.types, WEBHOOK_TYPES)
  assert.deepEqual(webhookOf({ WEBHOOK_EVENTS: 'all' })?.types, WEBHOOK_TYPES)
  assert.deepEqual(webhookOf({ WEBHOOK_EVENTS: 'user.deleted, user.banned,user.banned' })?.types, ['user.banned', 'user.deleted'])
  for (const name of ['user.imported', 'login.failed', 'user.*', 'User.banned', '']) {
    assert.deepEqual(errorsWith({ WEBHOOK_EVENTS: `user.banned,${name}` }), [
      `WEBHOOK_EVENTS: should be all or a comma list of ${WEBHOOK_TYPES.join(', ')}; "${name}" is not one of them`,
    ])
  }
})

test('URL and secret belong together, and events to both', () => {
  assert.deepEqual(errorsOf({ WEBHOOK_URL: URL_TEXT }), [`WEBHOOK_SECRET: is required with WEBHOOK_URL; ${ADVICE}`])
  assert.deepEqual(errorsOf({ WEBHOOK_SECRET: SECRET }), ['WEBHOOK_URL: is required with WEBHOOK_SECRET'])
  assert.deepEqual(errorsOf({ WEBHOOK_EVENTS: 'user.banned' }), [
    'WEBHOOK_EVENTS: is only used together with WEBHOOK_URL, which is not set',
  ])
  assert.equal(loadConfig({ WEBHOOK_EVENTS: 'all', WEBHOOK_URL: '', WEBHOOK_SECRET: '' }).webhook, undefined)
})
