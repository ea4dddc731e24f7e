import assert from 'node:assert/strict'
import { statement } from '../../src/storage/database.ts'
import { invalid, refused } from '../support/app/assertions.ts'
import { startApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { PASSWORD } from '../support/http/requests.ts'

type FieldKind = 'email' | 'name' | 'password' | 'newPassword' | 'token'
type Endpoint = { readonly url: string; readonly fields: Readonly<Record<string, FieldKind>> }

/** Every account endpoint that takes a body, with the kind of each of its fields. */
const ENDPOINTS: readonly Endpoint[] = [
  { url: '/register/', fields: { email: 'email', password: 'newPassword', first_name: 'name', last_name: 'name' } },
  { url: '/login/', fields: { email: 'email', password: 'password' } },
  { url: '/refresh/', fields: { refresh: 'token' } },
  { url: '/verify/resend/', fields: { email: 'email' } },
  { url: '/forgot-password/', fields: { email: 'email' } },
  { url: '/reset-password/', fields: { code: 'token', new_password: 'newPassword' } },
]

const GOOD: Record<FieldKind, string> = {
  email: 'mia@example.com',
  name: 'Mia',
  password: PASSWORD,
  newPassword: PASSWORD,
  token: 'aaaa.bbbb.cccc',
}
const CONTROL = ['nul\u0000inside', '\u0001', 'line\nbreak', 'carriage\rreturn', 'tab\tinside', 'del\u007f', 'c1\u0085'].map(
  (text) => `${text} and more`,
)
const SURROGATES = ['high \ud800 alone', '\udfff low alone']
const NOT_TEXT = [null, 0, 12345678, 1.5, true, false, [], ['mia@example.com'], {}, { $ne: null }]

/** Invalid values for each kind of field, with the type of their validation error. */
const WRONG: Record<FieldKind, readonly [string, unknown, string][]> = {
  email: [
    ...texts(CONTROL),
    ...texts(SURROGATES),
    ['not an address', 'mia', 'value_error'],
    ['two addresses', 'a@x.io,b@y.io', 'value_error'],
    ['60,000 characters', `${'a'.repeat(60_000)}@x.io`, 'value_error'],
  ],
  name: [
    ...texts(CONTROL),
    ...texts(SURROGATES),
    ['empty', '', 'string_too_short'],
    ['white space', ' \u00a0\u3000 ', 'string_too_short'],
    ['101 characters', 'x'.repeat(101), 'string_too_long'],
  ],
  password: [...texts(SURROGATES)],
  newPassword: [
    ...texts(SURROGATES),
    ['7 characters', 'seven77', 'string_too_short'],
    ['257 characters', 'x'.repeat(257), 'string_too_long'],
  ],
  token: [...texts(CONTROL), ...texts(SURROGATES)],
}

function texts(values: readonly string[]): [string, string, string][] {
  return values.map((value) => [JSON.stringify(value), value, 'value_error'])
}

const COUNT_ROWS = statement<{ count: number }>(
  'select (select count(*) from users) + (select count(*) from outbox) + (select count(*) from sessions) as count',
)

for (const { url, fields } of ENDPOINTS) {
  const names = Object.keys(fields)
  const good = Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, GOOD[kind]]))

  test(`422: ${url} refuses missing fields, wrong types and invalid values, and writes nothing`, async (t) => {
    const { app, db } = await startApp(t)
    const send = (body: object) =>
      app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: JSON.stringify(body) })
    for (const [name, kind] of Object.entries(fields)) {
      const { [name]: _, ...without } = good
      invalid(await send(without), { loc: ['body', name], type: 'missing' })
      for (const value of NOT_TEXT) invalid(await send({ ...good, [name]: value }), { loc: ['body', name], type: 'string_type' })
      for (const [, value, type] of WRONG[kind]) invalid(await send({ ...good, [name]: value }), { loc: ['body', name], type })
    }
    assert.equal((await db.first(COUNT_ROWS))?.count, 0)
  })

  test(`422: ${url} refuses a body that is not a JSON object in UTF-8, and writes nothing`, async (t) => {
    const { app, db } = await startApp(t)
    const body = JSON.stringify(good)
    const send = (payload: string | Buffer | undefined, contentType?: string) =>
      app.inject({
        method: 'POST',
        url,
        headers: contentType === undefined ? {} : { 'content-type': contentType },
        ...(payload === undefined ? {} : { payload }),
      })
    const asJson = 'application/json'
    for (const broken of ['{', 'nothing', `${body}x`, `{"email":}`, '\u0000', `${'['.repeat(30_000)}`])
      invalid(await send(broken, asJson), { loc: ['body'], type: 'json_invalid' })
    for (const noObject of ['[]', '"text"', '5', 'true', 'null', `[${body}]`])
      invalid(await send(noObject, asJson), { loc: ['body'], type: 'model_attributes_type' })
    invalid(await send(Buffer.concat([Buffer.from(body.slice(0, -2)), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]), asJson), {
      loc: ['body'],
      type: 'json_invalid',
    })
    invalid(await send(undefined), { loc: ['body'], type: 'missing' })
    invalid(await send('', asJson), { loc: ['body'], type: 'missing' })
    for (const contentType of [
      'text/plain',
      'text/json',
      'application/jsonp',
      'application/xml',
      'application/vnd.api+json',
      'json',
      'application/json, text/plain',
      ';',
    ]) {
      invalid(await send(body, contentType), { loc: ['body'], type: 'model_attributes_type' })
    }
    invalid(await send(body), { loc: ['body'], type: 'model_attributes_type' })
    assert.equal((await db.first(COUNT_ROWS))?.count, 0)
  })

  test(`413: ${url} refuses a body of more than 64 KiB, and writes nothing`, async (t) => {
    const { app, db } = await startApp(t)
    const headers = { 'content-type': 'application/json' }
    refused(
      await app.inject({ method: 'POST', url, headers, payload: JSON.stringify({ ...good, padding: 'x'.repeat(65_536) }) }),
      413,
      'Request body is too large',
    )
    assert.equal((await db.first(COUNT_ROWS))?.count, 0)
  })

  test(`422: ${url} ignores unknown fields, deep nesting and prototype names`, async (t) => {
    const { app } = await startApp(t)
    const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`
    const hostile = `{${names.map((name) => `"__proto__":{"${name}":"x"}`).join()},"constructor":{"prototype":{"isAdmin":true}},"deep":${deep}}`
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    const response = await app.inject({ method: 'POST', url, headers, payload: hostile })
    invalid(response, ...names.map((name) => ({ loc: ['body', name], type: 'missing' })))
    assert.equal(({} as { isAdmin?: boolean }).isAdmin, undefined)
  })
}
