import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { startMain } from '../../support/processes/main-process.ts'
import { LATCHKEY, runNode } from '../../support/processes/processes.ts'

const README = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
const run = promisify(execFile)

test('the first session of the README works as it is written', async (t) => {
  const session = README.split('\n## A first session\n')[1]?.split('\n## ')[0] ?? ''
  const [create = '', identify = ''] = [...session.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block ?? '')
  const cwd = temporaryFolder(t)
  const { url, port } = await startMain(t, { cwd })
  const here = (text: string) => text.replaceAll('http://localhost:8000', url)

  const args = create.trim().split(' ').slice(4)
  const { code, stdout: id } = await runNode(t, LATCHKEY, args, { cwd, input: 'a good password\n', env: { PORT: String(port) } })
  assert.deepEqual([code, id], [0, '1\n'])

  const links = [...session.matchAll(/\]\((http:[^)]+)\)/g)].map(([, link]) => link ?? '')
  assert.equal(links.length, 4)
  for (const link of links) assert.equal((await fetch(here(link), { headers: { accept: 'text/html' } })).status, 200, link)

  const post = (path: string, body: object, headers = {}) =>
    fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
  const login = await post('/login/', { email: 'admin@example.com', password: 'a good password' })
  const { token } = (await login.json()) as { token: string }
  const created = await post('/users/keys', { name: 'laptop', scopes: [], access: 'identify' }, { authorization: `Bearer ${token}` })
  const { key } = (await created.json()) as { key: string }
  const { stdout } = await run('bash', ['-euc', here(identify).replace('THE_KEY', key)])
  const { user_id, email } = JSON.parse(stdout)
  assert.deepEqual([user_id, email], [1, 'admin@example.com'])
})
