import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { generateSecretKey } from '../../../src/security/secret-key.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { json, refusedWith, runLatchkey } from '../../support/processes/command-line.ts'
import { LATCHKEY, runNode } from '../../support/processes/processes.ts'

const rotate = (cwd: string, env = {}) => runLatchkey(['secret', 'rotate'], { cwd, env })

/** A folder with a kept secret, and a database without accounts. */
async function keptSecret(t: TestContext): Promise<{ cwd: string; file: string }> {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'data'), { mode: 0o700 })
  const file = join(cwd, 'data/secret.key')
  writeFileSync(file, `${generateSecretKey()}\n`, { mode: 0o600 })
  return { cwd, file }
}

test('three rotations can follow each other, and the fourth is refused and changes nothing', async (t) => {
  const { cwd, file } = await keptSecret(t)
  // Two at the same time are two rotations, one after the other.
  const rotations = await Promise.all([1, 2].map(() => runNode(t, LATCHKEY, ['secret', 'rotate'], { cwd })))
  assert.deepEqual(
    rotations.map(({ code }) => code),
    [0, 0],
  )
  assert.deepEqual(json(await runLatchkey(['secret', 'rotate', '--json'], { cwd })), {
    file: 'data/secret.key',
    former_file: 'data/secret.key.former',
    former_secrets: 3,
  })
  const before = [readFileSync(file, 'utf8'), readFileSync(`${file}.former`, 'utf8')]
  assert.equal(new Set(before.join('').trim().split('\n')).size, 4)
  const { code, stderr } = await rotate(cwd)
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^latchkey: data\/secret\.key\.former has three secrets whose tokens may still be valid; rotate again after 20\d\d-\S+Z\n$/,
  )
  assert.deepEqual([readFileSync(file, 'utf8'), readFileSync(`${file}.former`, 'utf8')], before)
  assert.equal(statSync(`${file}.former`).mode & 0o777, 0o600)
})

test('backup and migrate-data name the former secrets too, because neither copies them', async (t) => {
  const { cwd } = await keptSecret(t)
  await rotate(cwd)
  const backup = await runLatchkey(['backup', 'copy.db'], { cwd })
  assert.match(backup.stdout, /: keep data\/secret\.key and data\/secret\.key\.former too, in another place\./)
  const move = ['migrate-data', '--from', 'sqlite:data/latchkey.db', '--to', 'sqlite:moved/latchkey.db']
  const moved = await runLatchkey(move, { cwd })
  assert.match(
    moved.stdout,
    /Set SECRET_KEY to the content of data\/secret\.key, and SECRET_KEY_FALLBACKS to the lines of data\/secret\.key\.former, separated by commas\./,
  )
})

test('secret rotate refuses where no secret is kept, and one that should not stay valid', async (t) => {
  const { cwd, file } = await keptSecret(t)
  const set = 'SECRET_KEY: is set, so there is no kept secret to replace; docs/operations.md, "Replacing SECRET_KEY", has the steps'
  refusedWith(await rotate(cwd, { SECRET_KEY: generateSecretKey() }), 1, set)
  writeFileSync(file, 'change-me-change-me-change-me-change-me')
  refusedWith(
    await rotate(cwd),
    1,
    'the content of data/secret.key is a sample or can be guessed, so its tokens should not stay valid; delete the file and restart the service, which ends all sessions',
  )
  assert.ok(!existsSync(`${file}.former`))
  const empty = temporaryFolder(t)
  refusedWith(await rotate(empty), 1, 'data/secret.key does not exist; the first start of the service creates it')
  assert.ok(!existsSync(join(empty, 'data')))
})

test('a former secret that can be guessed stops the start with one line', async (t) => {
  const { cwd, file } = await keptSecret(t)
  writeFileSync(`${file}.former`, `${generateSecretKey()}\nchange-me-change-me-change-me-change-me\n`)
  const { code, stderr } = await runNode(t, LATCHKEY, ['serve'], { cwd, env: { PORT: '0' } })
  assert.equal(code, 1)
  assert.equal(stderr, 'latchkey: SECRET_KEY: secret 2 of data/secret.key.former is a sample or can be guessed; remove its line\n')
})
