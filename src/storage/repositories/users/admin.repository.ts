import { type Reads, statement, type Transaction } from '../../database.ts'

const PROMOTE = statement(`update users set role = 'admin', verified = true where email_key = $1 and (role <> 'admin' or not verified)`)

const FIND_ANY = statement<{ readonly id: number }>(`select id from users where role = 'admin' limit 1`)

/** Returns false if there is no such account, or if it is a verified admin already. */
export async function promoteByEmail(tx: Transaction, emailKey: string): Promise<boolean> {
  return (await tx.run(PROMOTE, emailKey)) > 0
}

export function findAnyAdmin(reads: Reads): Promise<{ readonly id: number } | undefined> {
  return reads.first(FIND_ANY)
}
