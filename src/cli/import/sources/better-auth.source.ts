import { checkBoolean } from '../../../domain/import/field-checks.ts'
import type { FieldTree } from '../../../domain/import/imported-user.ts'
import { type JsonObject, snakeCase } from '../../../model/entity.ts'
import { defineSource, FOREVER, fromTimestamp, isInFuture, plain, type Source, splitName } from './source.ts'

type Column = 'emailVerified' | 'createdAt' | 'banExpires' | 'userId' | 'providerId'

const CREDENTIAL = 'credential'
const ACCOUNT_FIELDS = { ...spellings('userId', true), ...spellings('providerId', CREDENTIAL), password: true } as const

/**
 * Rows of the table user, each with the `password` of its row in the table account; or both tables in one object, as `user` and `account`,
 * where the passwords are held in memory.
 */
export function createBetterAuth(): Source {
  const passwords = new Map<unknown, unknown>()
  return defineSource({
    title: 'better-auth',
    listName: 'user',
    csvColumns: ['email'],
    mark: 'emailVerified',
    isUser: (record) => either(record, 'emailVerified') !== undefined,
    async prepare(readList, unread) {
      for await (const accounts of readList('account'))
        for (const account of accounts) {
          unread.count(account, ACCOUNT_FIELDS, 'account')
          if (either(account, 'providerId') === CREDENTIAL) passwords.set(either(account, 'userId'), account['password'])
        }
    },
    fields: {
      ...plain('id', 'email', 'name', 'role', 'banned', 'password'),
      ...spellings('emailVerified', true),
      ...spellings('createdAt', true),
      ...spellings('banExpires', true),
    },
    convert(record) {
      const created = either(record, 'createdAt')
      return {
        email: record.email,
        ...splitName(record.name),
        role: hasAdminRole(record.role) ? 'admin' : 'user',
        verified: checkBoolean('emailVerified', either(record, 'emailVerified')) ?? false,
        // A ban that has expired stays in the table until the user logs in again.
        banned: checkBoolean('banned', record.banned) === true && isInFuture('banExpires', either(record, 'banExpires') ?? FOREVER),
        created_at: fromTimestamp(created) ?? created,
        password_hash: record.password ?? passwords.get(record.id),
      }
    },
  })
}

/** A column as better-auth names it, as an adapter may name it, or as PostgreSQL folds it. */
function either(record: JsonObject, name: Column): unknown {
  return record[name] ?? record[snakeCase(name)] ?? record[name.toLowerCase()]
}

function spellings<Name extends Column, Field extends FieldTree[string]>(name: Name, field: Field): Readonly<Record<Name, Field>> {
  const all: FieldTree = { [name]: field, [snakeCase(name)]: field, [name.toLowerCase()]: field }
  // The other spellings are read by `either` alone, with the first one.
  return all as Readonly<Record<Name, Field>>
}

/** The admin plugin separates several roles by commas. */
function hasAdminRole(role: unknown): boolean {
  return typeof role === 'string' && role.split(',').some((name) => name.trim() === 'admin')
}
