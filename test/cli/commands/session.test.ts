import assert from 'node:assert/strict'
import { insertSession } from '../../../src/storage/repositories/sessions/session.repository.ts'
import { threeAccounts } from '../../support/app/accounts.ts'
import { test } from '../../support/databases/databases.ts'
import { commandLine, done, json, refusedWith } from '../../support/processes/command-line.ts'

const HOUR_MS = 60 * 60_000

test('session list and session revoke show and end the sessions of an account', async (t) => {
  const line = await commandLine(t)
  const db = await threeAccounts(line)
  const now = Math.floor(Date.now() / 1000) * 1000
  const opened = [1, 2, 3].map((n) => ({ id: `session-${n}`, userId: 2, createdAt: now + n, expiresAt: now + HOUR_MS }))
  await db.transaction(async (tx) => {
    for (const session of opened) await insertSession(tx, { ...session, ip: '203.0.113.9', userAgent: 'curl/8 漢字' })
    await insertSession(tx, { id: 'expired', userId: 2, createdAt: now - HOUR_MS, expiresAt: now - 1 })
    await insertSession(tx, { id: 'of-ada', userId: 1, createdAt: now, expiresAt: now + HOUR_MS })
  })
  const ids = async (user: string) =>
    (json(await line.run(['session', 'list', user, '--json'])) as { readonly id: string }[]).map(({ id }) => id)
  assert.deepEqual(await ids('bob@example.com'), ['session-3', 'session-2', 'session-1'])
  assert.match(
    (await line.run(['session', 'list', '2'])).stdout,
    /^ID +LOGGED IN +LAST SEEN +METHOD +SECOND FACTOR +IP +PROGRAM\nsession-3 /,
  )
  done(await line.run(['session', 'revoke', '2', 'session-2']), 'ended session session-2 of user 2 (Bob@example.com)\n')
  refusedWith(await line.run(['session', 'revoke', '2', 'of-ada']), 1, 'there is no such session')
  refusedWith(await line.run(['session', 'revoke', '2', 'session-2']), 1, 'there is no such session')
  done(await line.run(['session', 'revoke', '2']), 'ended 2 sessions of user 2 (Bob@example.com)\n')
  assert.deepEqual(json(await line.run(['session', 'revoke', '2', '--json'])), { revoked: 0 })
  assert.deepEqual([await ids('2'), await ids('1')], [[], ['of-ada']])
})
