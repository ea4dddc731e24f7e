import type { Accounts } from './accounts.ts'
import { type Client, type Credentials, Unanswered } from './client.ts'
import { isObject, Mismatch } from './expect.ts'
import { Unusable } from './unusable.ts'

/** Makes sure that the implementation answers, that the key is an admin's, and that an account of the run can be removed again. */
export async function requireUsable(client: Client, accounts: Accounts, operator: Credentials, url: string): Promise<void> {
  try {
    await requireAdmin(client, accounts.marker, operator, url)
    await requireRemovable(client, accounts, operator, url)
  } catch (error) {
    if (error instanceof Unanswered) throw new Unusable([`${url}: ${error.message}`])
    if (!(error instanceof Mismatch)) throw error
    const { request, response } = error.answer?.exchange() ?? {}
    throw new Unusable([`${url}: ${error.message}; nothing was checked (${request} → ${response})`])
  }
}

async function requireAdmin(client: Client, term: string, operator: Credentials, url: string): Promise<void> {
  const { status, json } = await client.call('GET', '/users/search', { as: operator, query: { search_term: term } })
  const detail = isObject(json) && typeof json['detail'] === 'string' ? `${status}, ${json['detail']}` : `${status}`
  if (status === 401) throw new Unusable([`--admin-key: ${url} does not accept this key (${detail})`])
  if (status === 403) throw new Unusable([`--admin-key: this is not the key of an admin (${detail})`])
  if (status === 404) throw new Unusable([`${url}: there is no GET /users/search below this address (${detail})`])
}

/** A run creates dozens of accounts, so one is tried first. */
async function requireRemovable(client: Client, accounts: Accounts, operator: Credentials, url: string): Promise<void> {
  const email = accounts.address()
  const json = { email, password: accounts.password(), first_name: 'Conny', last_name: 'Check' }
  const creation = await client.call('POST', '/register/', { json })
  if (creation.status >= 300)
    throw new Unusable([`${url}: no account can be registered (${creation.exchange().response}); nothing was checked`])
  const removal = await client.call('DELETE', `/users/${await accounts.idOf(email)}`, { as: operator })
  if (removal.status < 300) return
  throw new Unusable([`${url}: the account ${email} could not be removed (${removal.exchange().response}); nothing was checked`])
}
