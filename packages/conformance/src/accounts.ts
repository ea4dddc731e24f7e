import { randomBytes } from 'node:crypto'
import type { Client, Credentials } from './client.ts'
import { createDirectory } from './directory.ts'
import { expectThat, isObject, type JsonObject, Mismatch } from './expect.ts'
import type { Ledger } from './ledger.ts'
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

export type Accounts = Pick<Ledger, 'marker'> & {
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
}

export type AccountParts = {
  readonly client: Client
  readonly admin: Credentials
  readonly mailbox: Mailbox | undefined
  readonly ledger: Ledger
}

/** Creates the accounts that checks need. */
export function createAccounts({ client, admin, mailbox, ledger }: AccountParts): Accounts {
  const { marker } = ledger
  const directory = createDirectory(client, admin)
  let addresses = 0

  const address = () => `${marker}-${++addresses}@example.com`

  async function register(fields: Parameters<Accounts['register']>[0] = {}): Promise<Account> {
    const account = { email: address(), password: createPassword(), firstName: 'Conny', lastName: 'Check', ...fields }
    const { email, password, firstName, lastName } = account
    const json = { email, password, first_name: firstName, last_name: lastName }
    return { ...account, ...(await requestTokens(client, '/register/', json, 'an account')) }
  }

  async function member(fields = {}): Promise<Member> {
    if (mailbox === undefined) throw new Error('the check should be declared as one that needs a mailbox')
    const account = await register(fields)
    const { email, password } = account
    const verification = await client.call('GET', '/verify/', { query: { code: await mailbox.nextCode(email) } })
    expectThat(verification.status < 300, 'a verified account for the check', 'an unverified one', verification)
    const id = await idOf(email)
    const { status } = await client.call('GET', '/users/me', { as: account })
    if (status === 200) return { ...account, id }
    return { ...account, ...(await requestTokens(client, '/login/', { email, password }, 'a login')), id }
  }

  async function find(email: string): Promise<JsonObject> {
    const isMine = (user: JsonObject) => String(user['email']).toLowerCase() === email.toLowerCase()
    const { users, answer } = await directory.search({ search_term: email, field: 'email', exact_match: 'true' })
    // The search may be what is broken.
    const user = users.find(isMine) ?? (await directory.list()).find(isMine)
    if (typeof user?.['id'] !== 'number') throw new Mismatch(`the account ${email} in the list of users`, 'none', answer)
    ledger.noteId(email, user['id'])
    return user
  }

  async function idOf(email: string): Promise<number> {
    return ledger.idOf(email) ?? Number((await find(email))['id'])
  }

  return {
    marker,
    address,
    password: createPassword,
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
  }
}

function createPassword(length = 16): string {
  return `A1!${randomBytes(length).toString('hex')}`.slice(0, length)
}

/** Lenient, because other checks are about the exact answers. */
async function requestTokens(client: Client, path: string, json: JsonObject, purpose: string): Promise<Pick<Account, 'token' | 'refresh'>> {
  const answer = await client.call('POST', path, { json })
  const { token, refresh } = isObject(answer.json) ? answer.json : {}
  const isUsable = answer.status < 300 && typeof token === 'string' && typeof refresh === 'string'
  if (!isUsable) throw new Mismatch(`${purpose} for the check`, 'none', answer)
  return { token, refresh }
}
