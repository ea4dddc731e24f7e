import { statement, type Transaction } from '../database.ts'

const PROMOTE = statement(`update users set role = 'admin', verified = true where email_key = $1 and (role <> 'admin' or not verified)`)

/** Returns false if there is no such account, or if it is a verified admin already. */
export async function promoteByEmail(tx: Transaction, emailKey: string): Promise<boolean> {
  return (await tx.run(PROMOTE, emailKey)) > 0
}
