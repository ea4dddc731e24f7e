import { check, choice } from '../../check.ts'
import type { Context } from '../../context.ts'
import { expectEqual, expectRefusal, expectStatus, expectThat, expectType, isObject, jsonObject } from '../../expect.ts'

/** The paths of the specification, without trailing slashes. */
const PATHS = [
  '/register',
  '/login',
  '/refresh',
  '/verify',
  '/forgot-password',
  '/reset-password',
  '/users/me',
  '/users',
  '/users/search',
  '/users/{user_id}',
  '/users/{user_id}/password',
  '/users/{user_id}/make-admin',
  '/users/{user_id}/ban',
  '/users/{user_id}/unban',
  '/users/keys',
  '/users/keys/{key_id}',
  '/users/keys/by-user/{user_id}',
  '/users/keys/by-user/{user_id}/{key_id}',
  '/heartbeat',
]

/** A page, where a redirect may add the trailing slash. */
async function expectPage(call: Context['call'], path: string): Promise<void> {
  const first = await call('GET', path)
  const place = new URL(first.headers.get('location') ?? path, 'http://nowhere.invalid').pathname
  const answer = first.status >= 300 && first.status < 400 && place.endsWith(`${path}/`) ? await call('GET', `${path}/`) : first
  expectStatus(answer, 200)
  expectType(answer, 'text/html')
}

export const SERVICE_CHECKS = [
  check('heartbeat.status', '4.5', "GET /heartbeat is answered with 200 and status 'ok'", async ({ call }) => {
    const answer = await call('GET', '/heartbeat')
    expectEqual('status', jsonObject(answer, 200)['status'], 'ok', answer)
  }),
  check('explorers.docs', '4.6', 'GET /docs serves a page', async ({ call }) => {
    await expectPage(call, '/docs')
  }),
  check('explorers.redoc', '4.6', 'GET /redoc serves a page', async ({ call }) => {
    await expectPage(call, '/redoc')
  }),
  choice('explorers.openapi', '4.6', 'GET /openapi.json describes every path of the specification', async ({ call }) => {
    const answer = await call('GET', '/openapi.json')
    const { openapi, paths } = jsonObject(answer, 200)
    expectThat(String(openapi).startsWith('3.'), 'OpenAPI 3', String(openapi), answer)
    const described = new Set(
      Object.keys(isObject(paths) ? paths : {}).map((path) => path.replace(/^\/api\/v1/, '').replace(/(.)\/$/, '$1')),
    )
    expectEqual(
      'missing paths',
      PATHS.filter((path) => !described.has(path)),
      [],
      answer,
    )
  }),
  choice('paths.unknown', '7', 'an unknown path is answered with 404 in the format of errors', async ({ call }) => {
    expectRefusal(await call('GET', '/conformance/nowhere'), 404)
  }),
  choice('paths.method', '7', 'another method is answered with 405, with Allow', async ({ call }) => {
    const answer = await call('DELETE', '/heartbeat')
    expectRefusal(answer, 405)
    expectThat(answer.headers.get('allow')?.includes('GET') === true, 'Allow: GET', `Allow: ${answer.headers.get('allow')}`, answer)
  }),
  choice('paths.slash', '4', 'a trailing slash is optional on every path', async ({ call, operator }) => {
    for (const path of ['/heartbeat/', '/users/me/', '/users']) expectStatus(await call('GET', path, { as: operator }), 200)
    expectStatus(await call('POST', '/login', { json: {} }), 422)
  }),
  choice('paths.prefix', '4', 'every path answers under /api/v1, too', async ({ call, operator }) => {
    for (const path of ['/api/v1/heartbeat', '/api/v1/users/me']) expectStatus(await call('GET', path, { as: operator }), 200)
  }),
  choice('paths.head', '4.5', 'HEAD is answered like GET, without a body', async ({ call }) => {
    const answer = await call('HEAD', '/heartbeat')
    expectEqual('status and length', [answer.status, answer.bytes.length], [200, 0], answer)
  }),
]
