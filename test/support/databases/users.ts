import type { Transaction } from '../../../src/storage/database.ts'
import { insertUser } from '../../../src/storage/repositories/users/user.repository.ts'
import type { TestApp } from '../app/start-app.ts'

export type Person = { readonly email: string; readonly firstName: string; readonly lastName: string }

/** Inserts many verified users without a usable password. Returns their ids in order. */
export function insertUsers({ db, clock }: TestApp, people: readonly Person[]): Promise<number[]> {
  const insertAll = async (tx: Transaction) => {
    const ids: number[] = []
    for (const person of people) {
      const rest = { emailKey: person.email.toLowerCase(), passwordHash: 'none', createdAt: clock.now() }
      const id = await insertUser(tx, { ...person, ...rest, role: 'user', verified: true })
      if (id === undefined) throw new Error(`two of the users have the address ${person.email}`)
      ids.push(id)
    }
    return ids
  }
  // Many take longer than a request may, on a slow machine.
  return db.transaction(insertAll, { isLong: true })
}

export function numberedUsers(count: number): Person[] {
  return Array.from({ length: count }, (_, n) => ({ email: `user${n}@example.com`, firstName: `First ${n}`, lastName: `Last ${n}` }))
}
