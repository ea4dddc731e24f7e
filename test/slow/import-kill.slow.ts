import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import type { DatabaseTarget } from '../../src/storage/database.ts'
import { statement } from '../../src/storage/database.ts'
import { migrate, openDatabase } from '../../src/storage/open.ts'
import { until } from '../support/app/eventually.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { freshDatabase, temporaryFolder, test } from '../support/databases/databases.ts'
import { LATCHKEY, runNode, startNode } from '../support/processes/processes.ts'
import { scaled } from '../support/processes/scale.ts'

const COUNT = statement<{ users: number; addresses: number; keys: number }>(`
  select (select count(*) from users) as users, (select count(distinct email_key) from users) as addresses,
    (select count(*) from api_keys) as keys`)
const USERS = scaled(30_000, 100_000)

/** PostgreSQL finishes the statement of a client that was killed, which may be a commit. */
async function untilEnded(target: DatabaseTarget): Promise<void> {
  if (target.kind !== 'postgres') return
  const sql = postgres(target.url, { max: 1, onnotice: () => undefined })
  const open = () => sql`select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`
  await until('no transaction of the killed import is open', async () => (await open()).length === 0)
  await sql.end({ timeout: 1 })
}

test('an import that is killed again and again ends with every user and every key once', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'users.jsonl')
  const key = (n: number) => ({ id: `key-${n}`, key_hash: n.toString(16).padStart(64, '0') })
  const lines = Array.from({ length: USERS }, (_, n) => JSON.stringify({ id: n + 1, email: `user-${n}@example.com`, keys: [key(n)] }))
  writeFileSync(file, `${lines.join('\n')}\n`)
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const db = await openDatabase(target)
  t.after(() => db.close())
  const env = { SECRET_KEY: TEST_SECRET, DATABASE_URL: target.setting }
  const args = ['user', 'import', file, '--from', 'latchkey', '--keep-ids']
  const count = async () => (await db.first(COUNT)) ?? { users: 0, addresses: 0, keys: 0 }
  for (let kills = 1; kills <= 3; kills++) {
    const { users: before } = await count()
    const child = startNode(t, LATCHKEY, args, { cwd: folder, env })
    // Killed at some moment after its first batch is committed.
    await until('a batch is committed', async () => (await count()).users > before || child.exitCode !== null)
    child.kill('SIGKILL')
    if (child.exitCode === null) await once(child, 'close')
    await untilEnded(target)
    const { users, addresses, keys } = await count()
    t.diagnostic(`killed after ${users} of ${USERS} users`)
    assert.deepEqual([addresses, keys], [users, users])
  }
  const { users: imported } = await count()
  const { code, stdout, stderr } = await runNode(t, LATCHKEY, args, { cwd: folder, env })
  assert.deepEqual([code, stderr], [0, ''])
  assert.equal(stdout, `read ${USERS} = created ${USERS - imported} + updated 0 + skipped ${imported} + rejected 0\n`)
  assert.deepEqual(await count(), { users: USERS, addresses: USERS, keys: USERS })
})
