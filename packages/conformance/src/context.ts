import type { Account, Accounts, Member } from './accounts.ts'
import type { Answer, Call, Client, Credentials } from './client.ts'
import { expectFields, expectStatus, type JsonObject, jsonObject, KEY_VIEW } from './expect.ts'
import type { Mailbox } from './mailbox.ts'

/** What a check works with. */
export type Context = Pick<Accounts, 'marker' | 'address' | 'password' | 'register' | 'member' | 'admin' | 'find' | 'idOf'> & {
  call(method: string, path: string, call?: Call): Promise<Answer>
  /** The admin whose key was given. Checks change accounts of the run only. */
  readonly operator: Credentials
  /** Verified accounts that all checks share. A check may read them, and create keys, but not change them. */
  readonly shared: Shared
  /** The next code that is mailed to an address. */
  code(address: string): Promise<string>
  codes(address: string): Promise<readonly string[]>
  /** Requests a reset, and returns the mailed code. */
  resetCode(email: string): Promise<string>
  logIn(account: Pick<Account, 'email' | 'password'>): Promise<Answer>
  createKey(owner: Credentials, name?: string, scopes?: readonly string[]): Promise<CreatedKey>
}

export type CreatedKey = { readonly id: string; readonly key: string; readonly view: JsonObject }
export type Shared = {
  /** Not verified. */
  newcomer(): Promise<Account>
  member(): Promise<Member>
  other(): Promise<Member>
  admin(): Promise<Member>
  /** An API key of the shared member. */
  key(): Promise<CreatedKey>
  /** All users, as GET /users/ lists them. */
  list(): Promise<Answer>
}

export function createShared(client: Client, accounts: Accounts, operator: Credentials): Shared {
  const member = once(() => accounts.member())
  return {
    newcomer: once(() => accounts.register()),
    member,
    other: once(() => accounts.member()),
    admin: once(() => accounts.admin()),
    key: once(async () => createKey(client, await member(), 'shared', [])),
    list: once(async () => {
      await accounts.register()
      return client.call('GET', '/users/', { as: operator })
    }),
  }
}

export function createContext(client: Client, accounts: Accounts, operator: Credentials, shared: Shared, mailbox?: Mailbox): Context {
  const opened = () => mailbox ?? fail()
  return {
    ...accounts,
    call: client.call,
    operator,
    shared,
    code: (address) => opened().nextCode(address),
    codes: (address) => opened().codes(address),
    async resetCode(email) {
      expectStatus(await client.call('POST', '/forgot-password/', { json: { email } }), 200)
      return opened().nextCode(email)
    },
    logIn: ({ email, password }) => client.call('POST', '/login/', { json: { email, password } }),
    createKey: (owner, name = 'key of a check', scopes = []) => createKey(client, owner, name, scopes),
  }
}

async function createKey(client: Client, owner: Credentials, name: string, scopes: readonly string[]): Promise<CreatedKey> {
  const answer = await client.call('POST', '/users/keys', { as: owner, json: { name, scopes } })
  const view = expectFields(answer.status < 300 ? answer.json : jsonObject(answer, 200), { ...KEY_VIEW, key: 'string' }, answer)
  return { id: String(view['id']), key: String(view['key']), view }
}

function fail(): never {
  throw new Error('the check should be declared as one that needs a mailbox')
}

/** Creates a value with the first call, and returns it to all. */
function once<Value>(create: () => Promise<Value>): () => Promise<Value> {
  let created: Promise<Value> | undefined
  return () => {
    created ??= create()
    return created
  }
}
