import type { Answer, Client, Credentials } from './client.ts'
import { isObject, type JsonObject } from './expect.ts'

/** The users of the implementation, as an admin sees them. Lenient, because other checks are about the exact answers. */
export type Directory = {
  list(): Promise<readonly JsonObject[]>
  search(query: Readonly<Record<string, string | number>>): Promise<{ readonly users: readonly JsonObject[]; readonly answer: Answer }>
}

export function createDirectory(client: Client, admin: Credentials): Directory {
  return {
    async list() {
      const { json } = await client.call('GET', '/users/', { as: admin })
      return Array.isArray(json) ? json.filter(isObject) : []
    },
    async search(query) {
      const answer = await client.call('GET', '/users/search', { as: admin, query })
      const items: unknown = isObject(answer.json) ? answer.json['items'] : undefined
      return { users: Array.isArray(items) ? items.filter(isObject) : [], answer }
    },
  }
}
