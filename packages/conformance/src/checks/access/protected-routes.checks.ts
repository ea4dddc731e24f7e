import { type Check, check, mailCheck } from '../../check.ts'
import type { Context } from '../../context.ts'
import { expectRefusal, expectStatus } from '../../expect.ts'

type Route = {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly isForAdmins: boolean
  readonly json?: unknown
}

const KEY_ID = '00000000-0000-4000-8000-000000000000'

/** The protected routes. {user_id} is a user of the run. */
const ROUTES: readonly Route[] = [
  { name: 'me', method: 'GET', path: '/users/me', isForAdmins: false },
  { name: 'list', method: 'GET', path: '/users/', isForAdmins: true },
  { name: 'list-one', method: 'GET', path: '/users/?user_id={user_id}', isForAdmins: true },
  { name: 'search', method: 'GET', path: '/users/search?search_term=conformance', isForAdmins: true },
  { name: 'edit', method: 'PUT', path: '/users/{user_id}', isForAdmins: false, json: { first_name: 'Changed' } },
  { name: 'password', method: 'POST', path: '/users/{user_id}/password', isForAdmins: false, json: { password: 'changed by a stranger' } },
  { name: 'promote', method: 'POST', path: '/users/{user_id}/make-admin', isForAdmins: true },
  { name: 'ban', method: 'POST', path: '/users/{user_id}/ban', isForAdmins: true },
  { name: 'unban', method: 'POST', path: '/users/{user_id}/unban', isForAdmins: true },
  { name: 'delete', method: 'DELETE', path: '/users/{user_id}', isForAdmins: true },
  { name: 'keys-list', method: 'GET', path: '/users/keys', isForAdmins: false },
  { name: 'keys-create', method: 'POST', path: '/users/keys', isForAdmins: false, json: { name: 'by a stranger', scopes: [] } },
  { name: 'keys-get', method: 'GET', path: `/users/keys/${KEY_ID}`, isForAdmins: false },
  { name: 'keys-change', method: 'PATCH', path: `/users/keys/${KEY_ID}`, isForAdmins: false, json: { name: 'changed' } },
  { name: 'keys-delete', method: 'DELETE', path: `/users/keys/${KEY_ID}`, isForAdmins: false },
  { name: 'by-user-list', method: 'GET', path: '/users/keys/by-user/{user_id}', isForAdmins: true },
  {
    name: 'by-user-change',
    method: 'PATCH',
    path: `/users/keys/by-user/{user_id}/${KEY_ID}`,
    isForAdmins: true,
    json: { name: 'changed' },
  },
  { name: 'by-user-delete', method: 'DELETE', path: `/users/keys/by-user/{user_id}/${KEY_ID}`, isForAdmins: true },
]

const SLASH_REDIRECTS = [301, 302, 307, 308]
/** The routes without authentication that need nothing but a GET. */
const PUBLIC_PAGES = { heartbeat: '/heartbeat', docs: '/docs', redoc: '/redoc' } as const

async function pathFor(route: Route, { shared, idOf }: Context): Promise<string> {
  return route.path.includes('{user_id}')
    ? route.path.replace('{user_id}', String(await idOf((await shared.newcomer()).email)))
    : route.path
}

function described({ method, path }: Route): string {
  return `${method} ${path.replace(/\?.*/, '').replace(KEY_ID, '{key_id}')}`
}

const body = ({ json }: Route) => (json === undefined ? {} : { json })

export const PROTECTED_ROUTES_CHECKS: readonly Check[] = [
  ...ROUTES.map((route) =>
    check(`anonymous.${route.name}`, '5', `${described(route)} without credentials is answered with 401`, async (context) => {
      expectRefusal(await context.call(route.method, await pathFor(route, context), body(route)), 401)
    }),
  ),
  ...ROUTES.filter(({ isForAdmins }) => isForAdmins).map((route) =>
    mailCheck(
      `no-admin.${route.name}`,
      '5 rule 4',
      `${described(route)} by a user who is no admin is answered with 403 'Not enough permissions'`,
      async (context) => {
        const answer = await context.call(route.method, await pathFor(route, context), {
          ...body(route),
          as: await context.shared.member(),
        })
        expectRefusal(answer, 403, 'Not enough permissions')
      },
    ),
  ),
  ...ROUTES.map((route) =>
    check(`unverified.${route.name}`, '5 rule 5', `${described(route)} by a user who is not verified is refused`, async (context) => {
      const answer = await context.call(route.method, await pathFor(route, context), {
        ...body(route),
        as: await context.shared.newcomer(),
      })
      expectRefusal(answer, [401, 403])
    }),
  ),
  ...Object.entries(PUBLIC_PAGES).map(([name, path]) =>
    check(`public.${name}`, '5 rule 7', `GET ${path} needs no credentials, and ignores invalid ones`, async ({ call }) => {
      const redirects = path === '/heartbeat' ? [] : SLASH_REDIRECTS
      expectStatus(await call('GET', path, { as: { token: 'garbage', key: 'garbage' } }), 200, ...redirects)
    }),
  ),
]
