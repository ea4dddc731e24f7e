import type { Client, Credentials } from './client.ts'
import { createDirectory } from './directory.ts'
import type { JsonObject } from './expect.ts'
import type { Ledger } from './ledger.ts'

export type RemovalParts = { readonly client: Client; readonly admin: Credentials; readonly ledger: Ledger }

const ROUNDS = 10
const AT_ONCE = 4

/** Removes every account of the run, and returns the addresses of those that are left. */
export async function removeAccounts(parts: RemovalParts): Promise<readonly string[]> {
  let found = await findRemaining(parts)
  for (let round = 0; found.length > 0 && round < ROUNDS; round++) {
    const queue = found.values()
    const work = async () => {
      for (const user of queue) await remove(parts, user)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    found = await findRemaining(parts)
  }
  return found.map(({ id, email }) => String(email || `the account ${id} without an address`))
}

/** The accounts of the run that the implementation still has. */
async function findRemaining({ client, admin, ledger }: RemovalParts): Promise<readonly JsonObject[]> {
  const directory = createDirectory(client, admin)
  const found: JsonObject[] = []
  for (const field of ['email', 'last_name']) {
    for (const term of [ledger.marker, ledger.marker.toUpperCase()]) {
      const { users } = await directory.search({ search_term: term, field, size: 100 })
      found.push(...users)
    }
  }
  // The search may be what is broken.
  if (found.length === 0 && ledger.isOpen()) found.push(...(await directory.list()))
  return [...new Map(found.filter(ledger.contains).map((user) => [user['id'], user])).values()]
}

async function remove({ client, admin, ledger }: RemovalParts, { id, email }: JsonObject): Promise<void> {
  ledger.noteId(String(email), Number(id))
  const { status } = await client.call('DELETE', `/users/${id}`, { as: admin })
  if (status < 300 || status === 404) ledger.noteRemoved(Number(id))
}
