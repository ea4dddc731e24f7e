import assert from 'node:assert/strict'
import { examine } from '../../src/doctor/examine.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { admin, member } from '../support/app/actors.ts'
import { startApp, TEST_SECRET } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { addFactors } from '../support/databases/factors.ts'
import { problems } from '../support/processes/doctor.ts'

test('doctor names admins without a second factor, codes that no secret opens, and passkeys that cannot work', async (t) => {
  const service = await startApp(t)
  const { database } = service.config
  const [boss, other, mia] = [await admin(service), await admin(service), await member(service)]
  const found = async (env: Record<string, string>) => {
    const url = database.kind === 'sqlite' ? `sqlite:${database.file}` : database.url
    return problems(await examine({ DATABASE_URL: url, SECRET_KEY: TEST_SECRET, PORT: '0', ...env }), 'second factor')
  }
  const PUBLIC = { BASE_URL: 'https://id.example.com' }
  assert.deepEqual(await found({}), [], 'a local service')
  assert.deepEqual(await found(PUBLIC), [`warning: 2 admins (user ${boss.id}, ${other.id}) have no second factor`])
  const db = await openDatabase(database)
  t.after(() => db.close())
  await db.transaction(async (tx) => {
    for (const { id } of [boss, mia]) await addFactors(tx, id, 'a lost one')
  })
  assert.deepEqual(await found({ ...PUBLIC, SECOND_FACTOR: 'admins' }), [
    `error: no secret opens the codes of 2 accounts (user ${boss.id}, ${mia.id}): every code is refused`,
    `warning: 1 admin (user ${other.id}) has no second factor`,
  ])
  for (const BASE_URL of ['http://id.example.com', 'https://203.0.113.7'])
    assert.deepEqual(
      (await found({ BASE_URL }))[1],
      `warning: 2 passkeys cannot be used: BASE_URL is ${BASE_URL}, and browsers accept passkeys only for a host name with https`,
    )
})
