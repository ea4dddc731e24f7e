import { randomBytes } from 'node:crypto'
import type { Answer, Call, Client, Credentials } from './client.ts'
import { expectThat, isObject, type JsonObject, Mismatch } from './expect.ts'
import type { Mailbox } from './mailbox.ts'

/** An account of the run, with the tokens of its registration. */
export type Account = {
  readonly email: string
  readonly password: string
  readonly firstName: string
  readonly lastName: string
  readonly token: string
  readonly refresh: string
}
/** A verified account, whose token works. */
export type Member = Account & { readonly id: number }

export type Accounts = {
  /** Every address of the run contains it, or the last name if a check sends no address. */
  readonly marker: string
  address(): string
  password(length?: number): string
  register(fields?: Partial<Pick<Account, 'email' | 'password' | 'firstName' | 'lastName'>>): Promise<Account>
  /** A new verified account. */
  member(fields?: Partial<Pick<Account, 'password'>>): Promise<Member>
  /** A new verified account with the admin role. */
  admin(): Promise<Member>
  /** The full view of an account. */
  find(email: string): Promise<JsonObject>
  idOf(email: string): Promise<number>
  /** How many accounts were created. */
  created(): number
  /** Notes what an answer created or removed. */
  observe(method: string, path: string, call: Call, answer: Answer): void
  /** Removes every account of the run, and returns the addresses of those that are left. */
  removeAll(client: Client): Promise<readonly string[]>
}

export type AccountOptions = { readonly client: Client; readonly admin: Credentials; readonly mailbox: Mailbox | undefined }

const ROUNDS = 10
const AT_ONCE = 4

export function createAccounts({ client, admin, mailbox }: AccountOptions): Accounts {
  const marker = `conformance-${randomBytes(5).toString('hex')}`
  const registered = new Set<string>()
  const ids = new Map<string, number>()
  const removed = new Set<number>()
  let addresses = 0

  const address = () => `${marker}-${++addresses}@example.com`
  const password = (length = 16) => `A1!${randomBytes(length).toString('hex')}`.slice(0, length)

  async function register(fields: Parameters<Accounts['register']>[0] = {}): Promise<Account> {
    const account = { email: address(), password: password(), firstName: 'Conny', lastName: 'Check', ...fields }
    const { email, firstName, lastName } = account
    const json = { email, password: account.password, first_name: firstName, last_name: lastName }
    const answer = await client.call('POST', '/register/', { json })
    const { token, refresh } = isObject(answer.json) ? answer.json : {}
    // Lenient, because another check is about the exact answer.
    const isUsable = answer.status < 300 && typeof token === 'string' && typeof refresh === 'string'
    if (!isUsable) throw new Mismatch('an account for the check', 'none', answer)
    return { ...account, token, refresh }
  }

  async function member(fields = {}): Promise<Member> {
    if (mailbox === undefined) throw new Error('the check should be declared as one that needs a mailbox')
    const account = await register(fields)
    const verification = await client.call('GET', '/verify/', { query: { code: await mailbox.nextCode(account.email) } })
    expectThat(verification.status < 300, 'a verified account for the check', 'an unverified one', verification)
    const id = await idOf(account.email)
    const { status } = await client.call('GET', '/users/me', { as: account })
    return status === 200 ? { ...account, id } : { ...account, ...(await logIn(account)), id }
  }

  async function logIn({ email, password: secret }: Account): Promise<Pick<Account, 'token' | 'refresh'>> {
    const answer = await client.call('POST', '/login/', { json: { email, password: secret } })
    const { token, refresh } = isObject(answer.json) ? answer.json : {}
    if (typeof token !== 'string' || typeof refresh !== 'string') throw new Mismatch('a login for the check', 'none', answer)
    return { token, refresh }
  }

  async function find(email: string): Promise<JsonObject> {
    const query = { search_term: email, field: 'email', exact_match: 'true' }
    const searched = await client.call('GET', '/users/search', { as: admin, query })
    const isMine = (user: unknown) => isObject(user) && String(user['email']).toLowerCase() === email.toLowerCase()
    const items = isObject(searched.json) && Array.isArray(searched.json['items']) ? searched.json['items'] : []
    // The search may be what is broken.
    const user: unknown = items.find(isMine) ?? (await list(client)).find(isMine)
    if (!isObject(user) || typeof user['id'] !== 'number') throw new Mismatch(`the account ${email} in the list of users`, 'none', searched)
    ids.set(email.toLowerCase(), user['id'])
    return user
  }

  async function idOf(email: string): Promise<number> {
    return ids.get(email.toLowerCase()) ?? Number((await find(email))['id'])
  }

  async function list(through: Client): Promise<readonly JsonObject[]> {
    const { json } = await through.call('GET', '/users/', { as: admin })
    return Array.isArray(json) ? json.filter(isObject) : []
  }

  /** The accounts of the run that the implementation still has. */
  async function remaining(through: Client): Promise<readonly JsonObject[]> {
    const found: JsonObject[] = []
    for (const field of ['email', 'last_name']) {
      for (const term of [marker, marker.toUpperCase()]) {
        const { json } = await through.call('GET', '/users/search', { as: admin, query: { search_term: term, field, size: 100 } })
        if (isObject(json) && Array.isArray(json['items'])) found.push(...json['items'].filter(isObject))
      }
    }
    const unseen = found.length === 0 && [...registered].some((email) => !removed.has(ids.get(email) ?? 0))
    const listed = unseen ? await list(through) : []
    const mine = [...found, ...listed].filter((user) => isMarked(user['email']) || isMarked(user['last_name']))
    return [...new Map(mine.map((user) => [user['id'], user])).values()]
  }

  const isMarked = (text: unknown) => String(text).toLowerCase().includes(marker)

  async function remove(through: Client, { id, email }: JsonObject): Promise<void> {
    ids.set(String(email).toLowerCase(), Number(id))
    const { status } = await through.call('DELETE', `/users/${id}`, { as: admin })
    if (status < 300 || status === 404) removed.add(Number(id))
  }

  async function removeAll(through: Client): Promise<readonly string[]> {
    let found = await remaining(through)
    for (let round = 0; found.length > 0 && round < ROUNDS; round++) {
      const queue = found.values()
      const work = async () => {
        for (const user of queue) await remove(through, user)
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      found = await remaining(through)
    }
    return found.map(({ id, email }) => String(email || `the account ${id} without an address`))
  }

  return {
    marker,
    address,
    password,
    register,
    member,
    async admin() {
      const account = await member()
      const promotion = await client.call('POST', `/users/${account.id}/make-admin`, { as: admin })
      expectThat(promotion.status < 300, 'an admin for the check', 'none', promotion)
      return account
    },
    find,
    idOf,
    created: () => registered.size,
    observe(method, path, { json }, { status }) {
      if (status >= 300) return
      if (method === 'POST' && path === '/register/' && isObject(json)) registered.add(String(json['email']).toLowerCase())
      const [, id] = /^\/users\/(\d+)$/.exec(path) ?? []
      if (method === 'DELETE' && id !== undefined) removed.add(Number(id))
    },
    removeAll,
  }
}
