import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { NewApiKey } from '../../../src/domain/keys/keys.service.ts'
import { openSession } from '../../../src/domain/sessions/sessions.service.ts'
import type { Registrant } from '../../../src/domain/users/user-creation.ts'
import type { Role } from '../../../src/model/user.ts'
import { statement } from '../../../src/storage/database.ts'
import { findEmailChange } from '../../../src/storage/repositories/users/email-change.repository.ts'
import { findUserById } from '../../../src/storage/repositories/users/user.repository.ts'
import { OPERATOR, ORIGIN } from '../http/origins.ts'
import { newEmail } from '../http/requests.ts'
import type { TestApp } from './start-app.ts'

export type Actor = Registrant & {
  readonly id: number
  readonly token: string
  readonly refresh: string
  /** The versions that mailed tokens of the account contain. */
  readonly emailVersion: number
  readonly resetVersion: number
  /** The headers of each request of the actor. */
  readonly headers: Readonly<Record<string, string>>
}

type ActorOptions = Partial<Registrant> & { readonly verified?: boolean }

const MAKE_ADMIN = statement("update users set role = 'admin' where id = $1")
const UNVERIFY = statement('update users set verified = false where id = $1')

/** A verified user who is logged in. */
export function member(testApp: TestApp, options: ActorOptions = {}): Promise<Actor> {
  return actor(testApp, 'user', options)
}

export function admin(testApp: TestApp, options: ActorOptions = {}): Promise<Actor> {
  return actor(testApp, 'admin', options)
}

export type KeyHolder = Actor & { readonly keyId: string; readonly key: string }

/** The same user with an API key instead of a token. */
export async function keyHolder({ services }: TestApp, owner: Actor, options: Partial<NewApiKey> = {}): Promise<KeyHolder> {
  const { id, secret } = await services.apiKeys.create(OPERATOR, owner.id, { name: 'key of a test', scopes: [], ...options })
  return { ...owner, keyId: id, key: secret, headers: { 'x-api-key': secret } }
}

/** The same key with another last character. */
export const misspelt = (key: string) => `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`

/** A caller without credentials. */
export const visitor = { headers: {} } as const

async function actor({ db, clock, services }: TestApp, role: Role, { verified = true, ...given }: ActorOptions): Promise<Actor> {
  const email = `${role}-${randomBytes(6).toString('hex')}@example.com`
  const registrant = {
    email,
    password: 'correct horse battery',
    firstName: 'Mia',
    lastName: 'Muster',
    ...given,
    role: 'user',
    verified: true,
  } as const
  const { id } = await services.registration.create(OPERATOR, registrant)
  // Without an event, so that the trail of a test has one for each actor.
  if (role === 'admin') await db.run(MAKE_ADMIN, id)
  if (!verified) await db.run(UNVERIFY, id)
  const { token, refresh } = await db.transaction((tx) =>
    openSession({ ...tx, record: () => undefined }, services.tokens, {
      userId: id,
      method: 'password',
      secondFactor: false,
      origin: ORIGIN,
      now: clock.now(),
    }),
  )
  const { emailVersion, resetVersion } = (await findUserById(db, id)) ?? assert.fail('the account was not created')
  return { ...registrant, id, token, refresh, emailVersion, resetVersion, headers: { authorization: `Bearer ${token}` } }
}

/** Asks for a new address of an account, and returns the code that is mailed to it. */
export async function emailChangeCode({ services, db }: TestApp, { id }: Pick<Actor, 'id'>, email = newEmail()): Promise<string> {
  await services.users.editAndConfirm(OPERATOR, id, { email })
  const { version } = (await findEmailChange(db, id)) ?? assert.fail('no change of the address was requested')
  return services.tokens.forMail('email_change', id, version)
}
