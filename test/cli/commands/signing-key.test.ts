import assert from 'node:assert/strict'
import { test } from '../../support/databases/databases.ts'
import { commandLine, json } from '../../support/processes/command-line.ts'

type View = { id: string; state: string; created_at: string; signs_from: string; published_until: string | null }

test('signing-key list and rotate: the first key signs at once, the next one after 15 minutes', async (t) => {
  const line = await commandLine(t)
  const list = async () => json(await line.run(['signing-key', 'list', '--json'])) as View[]
  assert.deepEqual(await list(), [])
  const first = json(await line.run(['signing-key', 'rotate', '--json'])) as View
  assert.deepEqual([first.state, first.signs_from, first.published_until], ['signing', first.created_at, null])
  const { code, stdout } = await line.run(['signing-key', 'rotate'])
  assert.match(stdout, /^published signing key [0-9a-f-]{36}, which signs from \S+Z\n$/)
  assert.equal(code, 0)
  const [retiring, waiting, ...others] = await list()
  assert.deepEqual([retiring?.id, retiring?.state, waiting?.state, others], [first.id, 'retiring', 'waiting', []])
  const ms = (text: string | null | undefined) => Date.parse(String(text))
  assert.equal(ms(waiting?.signs_from) - ms(waiting?.created_at), 15 * 60_000)
  assert.equal(ms(retiring?.published_until) - ms(waiting?.signs_from), 20 * 60_000)
  assert.match((await line.run(['signing-key', 'list'])).stdout, /^ID +STATE +CREATED +SIGNS FROM +PUBLISHED UNTIL\n/)
})
