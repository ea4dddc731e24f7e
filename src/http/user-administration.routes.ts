import { Readable } from 'node:stream'
import type { UserAdministration } from '../domain/user-administration.service.ts'
import type { User } from '../model/user.ts'
import type { App } from './app-type.ts'
import { Empty, refusals } from './replies.ts'
import {
  FoundUsersView,
  foundUsersView,
  SearchQuery,
  toUserSearch,
  UserOrUsersView,
  UserPath,
  UserQuery,
  userView,
} from './user.schemas.ts'

/** What admins do with the accounts of others. */
export function userAdministrationRoutes(app: App, administration: UserAdministration): void {
  app.get(
    '/users/',
    {
      config: { access: 'admin' },
      schema: { querystring: UserQuery, response: { 200: UserOrUsersView, ...refusals(401, 403, 404, 422, 503) } },
    },
    async ({ method, query }, reply) => {
      if (query.user_id !== undefined) return userView(await administration.find(query.user_id))
      // Nothing is read for a HEAD, which would throw all of it away.
      const text = method === 'HEAD' ? [] : listText(administration.list())
      // A stream is sent as it is: the list has the declared shape, though never the whole of it at once.
      return reply.type('application/json; charset=utf-8').send(Readable.from(text, { objectMode: false }) as never)
    },
  )

  app.get(
    '/users/search',
    {
      config: { access: 'admin' },
      schema: { querystring: SearchQuery, response: { 200: FoundUsersView, ...refusals(401, 403, 422, 503) } },
    },
    async ({ query }) => {
      const search = toUserSearch(query)
      return foundUsersView(await administration.search(search), search)
    },
  )

  app.post(
    '/users/:user_id/make-admin',
    {
      config: { access: 'admin', event: 'admin_made' },
      schema: { params: UserPath, response: { 204: Empty, ...refusals(401, 403, 404, 413, 422, 503) } },
    },
    async ({ params }, reply) => {
      await administration.makeAdmin(params.user_id)
      return reply.code(204).send()
    },
  )

  app.post(
    '/users/:user_id/ban',
    {
      config: { access: 'admin', event: 'user_banned' },
      schema: { params: UserPath, response: { 204: Empty, ...refusals(400, 401, 403, 404, 413, 422, 503) } },
    },
    async ({ caller, params }, reply) => {
      await administration.ban(caller, params.user_id)
      return reply.code(204).send()
    },
  )

  app.post(
    '/users/:user_id/unban',
    {
      config: { access: 'admin', event: 'user_unbanned' },
      schema: { params: UserPath, response: { 204: Empty, ...refusals(401, 403, 404, 413, 422, 503) } },
    },
    async ({ params }, reply) => {
      await administration.unban(params.user_id)
      return reply.code(204).send()
    },
  )

  app.delete(
    '/users/:user_id',
    {
      config: { access: 'admin', event: 'user_deleted' },
      schema: { params: UserPath, response: { 204: Empty, ...refusals(400, 401, 403, 404, 413, 422, 503) } },
    },
    async ({ caller, params }, reply) => {
      await administration.remove(caller, params.user_id)
      return reply.code(204).send()
    },
  )
}

/** The text of a JSON list, a page at a time. When a page fails, the text ends without its bracket and the connection with it. */
async function* listText(pages: AsyncIterable<readonly User[]>): AsyncIterable<string> {
  let separator = '['
  for await (const page of pages) {
    yield separator + page.map((user) => JSON.stringify(userView(user))).join(',')
    separator = ','
  }
  yield separator === '[' ? '[]' : ']'
}
