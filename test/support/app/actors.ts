import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createFollowUps } from '../../../src/domain/changes/follow-ups.ts'
import type { NewApiKey } from '../../../src/domain/keys/keys.service.ts'
import { openSession } from '../../../src/domain/sessions/sessions.service.ts'
import { createUser } from '../../../src/domain/users/user-creation.ts'
import type { Role } from '../../../src/model/user.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { statement } from '../../../src/storage/database.ts'
import { findUserById } from '../../../src/storage/repositories/users/user.repository.ts'
import { OPERATOR, ORIGIN } from '../http/origins.ts'
import type { TestApp } from './start-app.ts'

export type Actor = {
  readonly id: number
  readonly email: string
  readonly password: string
  readonly firstName: string
  readonly lastName: string
  readonly token: string
  readonly refresh: string
  /** The versions that mailed tokens of the account contain. */
  readonly emailVersion: number
  readonly resetVersion: number
  /** The headers of each request of the actor. */
  readonly headers: Readonly<Record<string, string>>
}

export type ActorOptions = {
  readonly email?: string
  readonly password?: string
  readonly firstName?: string
  readonly lastName?: string
  readonly verified?: boolean
}

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

/** A caller without credentials. */
export const visitor = { headers: {} } as const

async function actor({ db, config, clock, services, passwords }: TestApp, role: Role, options: ActorOptions): Promise<Actor> {
  const {
    email = `${role}-${randomBytes(6).toString('hex')}@example.com`,
    password = 'correct horse battery',
    firstName = 'Mia',
    lastName = 'Muster',
    verified = true,
  } = options
  const changes = createChanges({
    db,
    now: clock.now,
    followUps: () => createFollowUps({ secrets: secretsOf(config), webhooks: config.webhook }),
    onEvent: () => undefined,
  })
  const id = await createUser({ changes, passwords, now: clock.now }, OPERATOR, { email, password, firstName, lastName }, 'user')
  // Without an event, so that the trail of a test has one for each actor.
  if (role === 'admin') await db.run(MAKE_ADMIN, id)
  if (!verified) await db.run(UNVERIFY, id)
  const { token, refresh } = await db.transaction((tx) =>
    openSession({ ...tx, record: () => undefined }, services.tokens, id, ORIGIN, clock.now()),
  )
  const { emailVersion, resetVersion } = (await findUserById(db, id)) ?? assert.fail('the account was not created')
  return {
    id,
    email,
    password,
    firstName,
    lastName,
    token,
    refresh,
    emailVersion,
    resetVersion,
    headers: { authorization: `Bearer ${token}` },
  }
}
