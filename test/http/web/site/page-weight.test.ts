import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LightMyRequestResponse } from 'fastify'
import type { App } from '../../../../src/http/pipeline/declarations.ts'
import { admin } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { insertMany, ROW_ID } from '../../../support/databases/rows.ts'
import { insertUsers } from '../../../support/databases/users.ts'
import { FORMS } from '../../../support/http/forms.ts'
import { signIn, submit, visit } from '../../../support/http/pages.ts'

const MAX_BYTES = 60_000
const COUNT = 130
// A quote takes six bytes in HTML, more than any other character.
const QUOTES = '"'.repeat(200)

const ID = ROW_ID
const USER = 'cast($2 as bigint)'
const NOW = 'cast($3 as bigint)'
const TEXT = 'cast($4 as text)'
const HOUR_MS = 3_600_000
const ERROR = `'{"error":"' || replace(${TEXT}, '"', '&') || '","firstAt":1,"lastAt":1,"count":1}'`
const ERRORS = Array.from({ length: 20 }, () => ERROR).join(" || ',' || ")
const ROWS = [
  insertMany(
    'sessions',
    'id, user_id, created_at, expires_at, ip, user_agent',
    `${ID}, ${USER}, ${NOW} - n, ${NOW} + ${HOUR_MS}, '2001:0db8:1111:2222:3333:4444:5555:6666', ${TEXT}`,
  ),
  insertMany(
    'api_keys',
    'id, user_id, name, key_hash, scopes, created_at, access, prefix, expires_at, last_used_at',
    `${ID}, ${USER}, substr(${TEXT}, 1, 100), cast(n as text), '[]', ${NOW} - n, 'identify', 'lk_abcdef', ${NOW} - 1, ${NOW} - n`,
  ),
  insertMany(
    'api_keys',
    'id, user_id, name, key_hash, scopes, created_at, access, prefix',
    `${ID.replace('8000', '9000')}, ${USER}, substr(${TEXT}, 1, 100), 'unused ' || cast(n as text), '[]', ${NOW} - ${2400 * HOUR_MS}, 'full', 'lk_abcdef'`,
  ),
  insertMany(
    'outbox',
    'kind, recipient, requested_at, due_at, attempts, last_error, failed_at',
    `'reset', cast(n + ${USER} as text) || '-mia''s.mail@' || '${'example-'.repeat(20)}' || '.com', ${NOW}, ${NOW}, 99, ${TEXT}, ${NOW}`,
  ),
  // Of the admin, and of many others: each with more errors than are shown.
  ...["'boss@example.com'", `cast(n as text) || '-mia''s.mail@' || '${'example-'.repeat(20)}' || '.com'`].map((recipient) =>
    insertMany(
      'mail_history',
      'mail_id, kind, recipient, requested_at, at, attempts, errors, outcome, answer',
      `n, 'recovery_code_used', ${recipient}, ${NOW} + ${USER} - ${USER}, ${NOW}, 99, '[' || ${ERRORS} || ']', 'delivered', ${TEXT}`,
    ),
  ),
  insertMany(
    'webhook_deliveries',
    'message_id, type, user_id, occurred_at, requested_at, due_at, attempts, last_error, failed_at',
    `${ID}, 'user.email_changed', ${USER}, ${NOW}, ${NOW}, ${NOW}, 99, ${TEXT}, ${NOW}`,
  ),
  insertMany(
    'events',
    'at, kind, actor, target, via, ip, key_id, detail, mac, mac_key',
    `${NOW}, 'user.password_changed', ${USER}, ${USER}, 'console', '2001:0db8:1111:2222:3333:4444:5555:6666', ${ID}, '{"invalid":"' || replace(${TEXT}, '"', '&') || '"}', 'x', 'x'`,
  ),
]

/** The bytes of a page with its stylesheet, its script and its logo. */
async function weightOf(app: App, page: LightMyRequestResponse): Promise<number> {
  let bytes = page.rawPayload.length
  for (const [, url = ''] of page.body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)) bytes += (await app.inject(url)).rawPayload.length
  return bytes
}

test('a page weighs less than 60 KB with its stylesheet and its script, whatever it shows', async (t) => {
  const service = await startApp(t)
  const { app, db, clock, services, mailFolder } = service
  const boss = await admin(service, { email: 'boss@example.com' })
  const cookie = await signIn(app, boss)
  for (const rows of ROWS) await db.run(rows, COUNT, boss.id, clock.now(), QUOTES)
  const names = { firstName: QUOTES.slice(0, 100), lastName: QUOTES.slice(0, 100) }
  await insertUsers(
    service,
    Array.from({ length: COUNT }, (_, n) => ({ email: `${n}${"'".repeat(60)}@${'example-'.repeat(20)}.com`, ...names })),
  )
  const { id: keyId } = await services.apiKeys.create({ caller: 'operator', origin: { via: 'cli' } }, boss.id, {
    name: QUOTES.slice(0, 100),
    scopes: Array.from({ length: 50 }, (_, n) => `${n}${QUOTES.slice(0, 98)}`),
  })
  mkdirSync(mailFolder, { recursive: true })
  for (let n = 0; n < COUNT; n++) {
    const name = `2026-01-01T00-00-00.000Z-${String(n).padStart(6, '0')}-${'mia@example.com'.padEnd(100, 'x')}-00000000.eml`
    writeFileSync(join(mailFolder, name), `To: ${'x'.repeat(60)}@${'example-'.repeat(20)}.com\r\nSubject: ${QUOTES}\r\n\r\nHello`)
  }
  const paths = [
    '/console/',
    '/console/users',
    `/console/users?q=${encodeURIComponent("''@")}&sort=email`,
    `/console/users/${boss.id}`,
    `/console/users/${boss.id}?sessions=2&keys=3`,
    '/console/keys',
    '/console/keys?q=x',
    '/console/mail',
    `/console/mail?to=${encodeURIComponent(boss.email)}`,
    '/console/users/invite',
    `/console/users/${boss.id}/edit`,
    '/console/mail?status=failed&kept=2',
    '/console/webhooks',
    '/console/audit',
    '/console/status',
    '/console/settings',
    '/console/settings/docs/integration.md',
    '/account/',
    '/account/sessions',
    '/account/keys',
    `/account/keys/${keyId}`,
  ]
  const keys = await app.inject(visit('/console/keys', cookie))
  assert.equal(keys.body.split('class="main"').length - 1, 40, 'all, expired and unused ones')
  const weights: Record<string, number> = {}
  for (const path of paths) {
    const page = await app.inject(visit(path, cookie))
    assert.equal(page.statusCode, 200, path)
    weights[path] = await weightOf(app, page)
  }
  const heavy = Object.entries(weights).filter(([, bytes]) => bytes >= MAX_BYTES)
  assert.deepEqual(heavy, [], JSON.stringify(weights))
})

const FORM_BYTES = 60_000

test('401 or 422: a refused form stays small, however long its fields are, and repeats their beginnings', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const cookie = await signIn(app, await admin(service))
  const weights: Record<string, number> = {}
  for (const [path, names] of Object.entries(FORMS)) {
    const text = "'".repeat(FORM_BYTES / names.length)
    const payload = names.map((name) => `${name}=${text}`).join('&')
    const page = await app.inject({ ...submit(path, {}, cookie), payload })
    assert.ok([401, 404, 422].includes(page.statusCode), `${path}: ${page.statusCode}`)
    weights[path] = await weightOf(app, page)
  }
  const heavy = Object.entries(weights).filter(([, bytes]) => bytes >= MAX_BYTES)
  assert.deepEqual(heavy, [], JSON.stringify(weights))
  const refused = await app.inject(submit('/account/', { first_name: `Mia ${'😀'.repeat(200)}`, last_name: 'Meier' }, cookie))
  assert.equal(refused.statusCode, 422)
  assert.ok(refused.body.includes(` value="Mia ${'😀'.repeat(96)}"`), 'the first hundred characters')
  assert.ok(refused.body.includes(' value="Meier"'))
})
