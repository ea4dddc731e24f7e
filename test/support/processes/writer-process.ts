// Opens a database like the service, and inserts users and prints their ids until standard input ends.
import { setImmediate } from 'node:timers/promises'
import { openDatabase } from '../../../src/storage/open.ts'
import { insertUser } from '../../../src/storage/repositories/users/user.repository.ts'

const db = await openDatabase({ kind: 'sqlite', file: process.argv[2] ?? '' })
const stop = new AbortController()
process.stdin.resume().once('end', () => stop.abort())
for (let n = 1; !stop.signal.aborted; n++) {
  const names = { firstName: `First ${n}`, lastName: 'Writer', passwordHash: 'none', role: 'user', verified: true } as const
  const email = `writer-${n}@example.com`
  const id = await db.transaction((tx) => insertUser(tx, { ...names, email, emailKey: email, createdAt: Date.now() }))
  process.stdout.write(`${id}\n`)
  await setImmediate()
}
await db.close()
