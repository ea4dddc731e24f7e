import assert from 'node:assert/strict'
import { findEmailChange } from '../../../src/storage/repositories/users/email-change.repository.ts'
import { OPERATOR } from '../http/origins.ts'
import { newEmail } from '../http/requests.ts'
import type { Actor } from './actors.ts'
import type { TestApp } from './start-app.ts'

/** Asks for a new address of an account, and returns the code that is mailed to it. */
export async function emailChangeCode({ services, db }: TestApp, { id }: Pick<Actor, 'id'>, email = newEmail()): Promise<string> {
  await services.users.editAndConfirm(OPERATOR, id, { email })
  const { version } = (await findEmailChange(db, id)) ?? assert.fail('no change of the address was requested')
  return services.tokens.forMail('email_change', id, version)
}
