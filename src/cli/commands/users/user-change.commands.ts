import type { Command } from 'commander'
import { createUserAdministration, type UserAdministration } from '../../../domain/users/user-administration.service.ts'
import type { User } from '../../../model/user.ts'
import type { Database } from '../../../storage/database.ts'
import { type BulkOptions, type Change, type OnProgress, runBulk, type Subject } from '../../bulk/bulk.ts'
import { findUser, USERS_HINT } from '../../bulk/references.ts'
import { DRY_RUN_OPTION } from '../../bulk/rehearsal.ts'
import { YES_OPTION } from '../../terminal/confirm.ts'
import { JSON_OPTION } from '../../terminal/output.ts'
import { USER_FORMAT, userLabel } from '../../terminal/views.ts'
import { OPERATOR, partsOf, withDatabase } from '../../with-database.ts'

type UserChange = Omit<Change<User>, 'apply'> & {
  readonly description: string
  run(userAdministration: UserAdministration, userId: number, onProgress: OnProgress): Promise<void>
}

const CHANGES: readonly UserChange[] = [
  {
    name: 'verify',
    description: 'mark the e-mail address of accounts as verified',
    phrase: ['verify', 'verified'],
    needless: ({ verified }) => (verified ? 'already verified' : undefined),
    run: (userAdministration, id) => userAdministration.verify(OPERATOR, id),
  },
  {
    name: 'ban',
    description: 'suspend accounts with their sessions and API keys',
    phrase: ['ban', 'banned'],
    needless: ({ banned }) => (banned ? 'already banned' : undefined),
    run: (userAdministration, id) => userAdministration.ban(OPERATOR, id),
  },
  {
    name: 'unban',
    description: 'restore banned accounts',
    phrase: ['unban', 'unbanned'],
    needless: ({ banned }) => (banned ? undefined : 'not banned'),
    run: (userAdministration, id) => userAdministration.unban(OPERATOR, id),
  },
  {
    name: 'make-admin',
    description: 'give accounts the admin role',
    phrase: ['make', 'made', ' an admin'],
    needless: ({ role }) => (role === 'admin' ? 'already an admin' : undefined),
    run: (userAdministration, id) => userAdministration.makeAdmin(OPERATOR, id),
  },
  {
    name: 'revoke-admin',
    description: 'remove the admin role from accounts',
    phrase: ['remove the admin role from', 'removed the admin role from'],
    needless: ({ role }) => (role === 'admin' ? undefined : 'not an admin'),
    run: (userAdministration, id) => userAdministration.revokeAdmin(OPERATOR, id),
  },
  {
    name: 'delete',
    description: 'delete accounts with their sessions and API keys, permanently',
    phrase: ['delete', 'deleted'],
    deletion: ' with all sessions and API keys',
    run: (userAdministration, id, onProgress) => userAdministration.remove(OPERATOR, id, onProgress),
  },
]

const USERS: Subject<User> = {
  plural: 'users',
  find: (db, reference) => findUser(administrationOf(db), reference),
  id: ({ id }) => id,
  label: userLabel,
  json: USER_FORMAT.json,
}

/** The commands that change one account or many. */
export function userChangeCommands(parent: Command): void {
  for (const change of CHANGES) {
    const command = parent
      .command(change.name)
      .description(change.description)
      .argument('<users...>', USERS_HINT)
      .option(...DRY_RUN_OPTION)
      .option(...JSON_OPTION)
      .action((references: string[], options: BulkOptions) =>
        withDatabase((db) =>
          runBulk(db, references, options, USERS, { ...change, apply: (used, user, onProgress) => apply(used, user, change, onProgress) }),
        ),
      )
    if (change.deletion !== undefined) command.option(...YES_OPTION)
  }
}

async function apply(db: Database, { id }: User, change: UserChange, onProgress: OnProgress): Promise<User | undefined> {
  const userAdministration = administrationOf(db)
  await change.run(userAdministration, id, onProgress)
  return change.deletion === undefined ? userAdministration.find(id) : undefined
}

function administrationOf(db: Database): UserAdministration {
  return createUserAdministration(partsOf(db))
}
