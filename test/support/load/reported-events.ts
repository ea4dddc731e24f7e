import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { eventually, until } from '../app/eventually.ts'
import { TEST_SECRET } from '../app/start-app.ts'
import { json } from '../processes/command-line.ts'
import { LATCHKEY, runNode } from '../processes/processes.ts'
import type { Receiver } from '../servers/webhook-receiver.ts'

export type Rows = (sql: string) => Promise<Record<string, unknown>[]>

/** Asserts that every event of the audit trail that webhooks report has arrived. A webhook that arrived twice counts once. */
export async function assertReported({ received }: Receiver, rows: Rows, deadlineMs: number): Promise<number> {
  await until('all webhooks are sent', async () => (await rows('select id from webhook_deliveries')).length === 0, deadlineMs)
  const events = await rows(`
    select kind, target, key_id from events where kind like 'user.%' or kind like 'session.%' or kind like 'key.%' order by id`)
  const written = events.map(({ kind, target, key_id: keyId }) => `${kind} ${target} ${keyId ?? ''}`)
  const byId = new Map(received.map(({ headers, body }) => [headers['webhook-id'], body]))
  const arrived = [...byId.values()].map(({ type, data }) => `${type} ${data['user_id']} ${data['key_id'] ?? ''}`)
  assert.deepEqual(arrived.sort(), written.sort())
  return written.length
}

// Both are written in the transaction of the change, which may be interrupted at any moment.
const UNRECORDED = `
  select 'user' as unrecorded, cast(id as text) as id from users
  where not exists (select 1 from events where kind = 'user.registered' and target = users.id)
  union all select 'session', id from sessions
  where not exists (select 1 from events where kind = 'session.created' and target = user_id and detail like '%' || sessions.id || '%')`

/** Asserts that every account and every session has its event. */
export async function assertRecorded(rows: Rows): Promise<void> {
  assert.deepEqual(await rows(UNRECORDED), [], 'every account and session has its event')
}

type Trail = { readonly valid: boolean; readonly sealed: number }

/** Asserts that the audit trail verifies and that events are sealed, and returns how many. The sealer of the service runs every second. */
export async function assertSealed(t: TestContext, cwd: string, env: Readonly<Record<string, string>> = {}): Promise<number> {
  return eventually('a sealed event', async () => {
    const verified = await runNode(t, LATCHKEY, ['audit', 'verify', '--json'], { cwd, env: { SECRET_KEY: TEST_SECRET, ...env } })
    const { valid, sealed } = json(verified) as Trail
    assert.ok(valid, verified.stdout)
    return sealed > 0 ? sealed : undefined
  })
}
