import { statement, type Transaction } from './database.ts'

const PROMOTE = statement(`update users set role = 'admin', verified = true where email_key = $1 and (role <> 'admin' or not verified)`)

export async function promoteByEmail(tx: Transaction, emailKey: string): Promise<void> {
  await tx.run(PROMOTE, emailKey)
}
