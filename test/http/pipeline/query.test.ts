import assert from 'node:assert/strict'
import { test as plainTest } from 'node:test'
import { parseQuery } from '../../../src/http/pipeline/input.ts'
import { admin, member } from '../../support/app/actors.ts'
import { invalid, refused } from '../../support/app/assertions.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { PASSWORD, register } from '../../support/http/requests.ts'

const issue = (name: string, location = 'query') => ({ loc: [location, name], type: 'value_error' })

test('422: a repeated parameter is refused on every endpoint, with or without a declared query', async (t) => {
  const testApp = await startApp(t)
  const { app } = testApp
  const { headers } = await admin(testApp)
  for (const path of ['/users/me', '/users/keys', '/users/', '/heartbeat', '/ready', '/', '/docs', '/openapi.json']) {
    invalid(await app.inject({ url: `${path}?x=1&y=2&x=1`, headers }), issue('x'))
    assert.notEqual((await app.inject({ url: `${path}?x=1&y=2&`, headers })).statusCode, 422)
  }
  invalid(
    await app.inject({ url: '/users/search?x=1&x=2&field=none&y&y', headers }),
    {
      loc: ['query', 'search_term'],
      type: 'missing',
    },
    { loc: ['query', 'field'], type: 'enum' },
    issue('x'),
    issue('y'),
  )
  const registration = { ...register({ email: 'twice@example.com' }), url: '/register/?x=1&x=2' }
  invalid(await app.inject(registration), issue('x'))
  assert.equal((await app.inject({ ...registration, url: '/register/?x=1' })).statusCode, 201)
})

test('422: a query that is not UTF-8 is refused, in a name and in a value', async (t) => {
  const testApp = await startApp(t)
  const { app } = testApp
  const { headers } = await admin(testApp)
  for (const text of ['%ED%A0%80', '%ff', '%C0%80', '%', '100%', '%zz']) {
    invalid(await app.inject({ url: `/users/search?search_term=${text}`, headers }), issue('search_term'))
    invalid(await app.inject({ url: `/users/me?x=${text}`, headers }), issue('x'))
    invalid(await app.inject({ url: `/users/me?${text}=x`, headers }), issue(text))
  }
})

test('404, 405, 401 and 403 take precedence over an invalid query', async (t) => {
  const testApp = await startApp(t)
  const { headers } = await member(testApp)
  const ask = (url: string, method: 'GET' | 'PUT' = 'GET') => testApp.app.inject({ method, url: `${url}?x=1&x=%ff`, headers })
  refused(await testApp.app.inject('/users/me?x=1&x=2'), 401, 'Not authenticated. Use either JWT token or API key.')
  refused(await ask('/users/search'), 403, 'Not enough permissions')
  refused(await ask('/nothing'), 404, 'Not Found')
  refused(await ask('/metrics'), 404, 'Not Found')
  refused(await ask('/heartbeat', 'PUT'), 405, 'Method Not Allowed')
})

test('422: a repeated form field is refused with a page, whether or not the form declares it', async (t) => {
  const { app } = await startApp(t)
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const send = (payload: string, url = '/reset-password/') => app.inject({ method: 'POST', url, headers, payload })
  const fields = `code=a.b.c&new_password=${encodeURIComponent(PASSWORD)}`
  for (const response of [
    await send(`${fields}&x=1&x=2`),
    await send(`${fields}&new_password=another+one`),
    await send(fields, '/reset-password/?x=1&x=2'),
  ]) {
    assert.equal(response.statusCode, 422)
    assert.match(String(response.headers['content-type']), /^text\/html/)
    assert.ok(response.body.includes('the parameter should be given once'), response.body)
  }
  // A list in JSON is one value.
  const json = { code: 'a.b.c', new_password: PASSWORD, x: [1, 2] }
  refused(await app.inject({ method: 'POST', url: '/reset-password/', payload: json }), 401, 'That token is Invalid')
})

test('422: more than 100 parameters are not parsed, and at most 20 undeclared ones are reported, with shortened names', async (t) => {
  const testApp = await startApp(t)
  const { headers } = await admin(testApp)
  const ask = (query: string) => testApp.app.inject({ url: `/users/search?search_term=x&${query}`, headers })
  const many = (count: number) => Array.from({ length: count }, (_, index) => `n${index}=1`).join('&')
  assert.equal((await ask(many(99))).statusCode, 200)
  invalid(await ask(many(100)), { loc: ['query'], type: 'value_error' })
  for (const flood of [many(1500), 'a&'.repeat(5000), '&'.repeat(15_000)]) {
    invalid(await ask(flood), { loc: ['query'], type: 'value_error' })
    invalid(await testApp.app.inject({ url: `/users/me?${flood}`, headers }), { loc: ['query'], type: 'value_error' })
    refused(await testApp.app.inject(`/users/me?${flood}`), 401, 'Not authenticated. Use either JWT token or API key.')
  }
  const names = Array.from({ length: 40 }, (_, index) => `n${index}`)
  const twice = await ask(`${names.join('&')}&${names.join('&')}&page=x`)
  invalid(twice, { loc: ['query', 'page'], type: 'int_parsing' }, ...names.slice(0, 20).map((name) => issue(name)))
  const long = 'x'.repeat(5000)
  invalid(await ask(`${long}&${long}`), issue(long.slice(0, 64)))
})

test('422: a form with more than 100 fields is not parsed', async (t) => {
  const { app } = await startApp(t)
  const part = (name: string) => `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n1\r\n`
  const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`)
  const kinds = {
    'application/x-www-form-urlencoded': (count: number) => names(count).join('=1&'),
    'multipart/form-data; boundary=x': (count: number) => `${names(count).map(part).join('')}--x--\r\n`,
  }
  for (const [contentType, form] of Object.entries(kinds)) {
    const send = (payload: string) =>
      app.inject({ method: 'POST', url: '/reset-password/', headers: { 'content-type': contentType }, payload })
    const [few, many] = [await send(form(100)), await send(form(101))]
    assert.deepEqual([few.statusCode, many.statusCode], [422, 422])
    assert.ok(few.body.includes('Reset code is required'), few.body)
    assert.ok(many.body.includes('there should be at most 100 parameters'), many.body)
  }
})

plainTest('a query is decoded', () => {
  const cases: readonly (readonly [string, object])[] = [
    ['', {}],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a+b=c+d%2B', { 'a b': 'c d+' }],
    ['a=b=c&=x&d&&e=', { a: 'b=c', '': 'x', d: '', e: '' }],
    ['a=%E6%97%A5%E6%9C%AC', { a: '日本' }],
    // Bytes that are not percent-encoded, as the HTTP parser of Node delivers them.
    [`a=${Buffer.from('日本').toString('latin1')}`, { a: '日本' }],
    ['a=\xe9', { a: null }],
    ['__proto__=1&constructor=2&toString=3', JSON.parse('{"__proto__":"1","constructor":"2","toString":"3"}')],
    ['a=1&%61=2&a=3', { a: [] }],
  ]
  for (const [text, parameters] of cases) assert.deepEqual({ ...parseQuery(text) }, parameters, text)
})
