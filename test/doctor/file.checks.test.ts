import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as plainTest } from 'node:test'
import { loadConfig } from '../../src/config/load.ts'
import { examine } from '../../src/doctor/examine.ts'
import { checkDisk } from '../../src/doctor/file.checks.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { runLatchkey } from '../support/processes/command-line.ts'
import { problems, validSettings } from '../support/processes/doctor.ts'

plainTest('doctor reports an invalid secret.key, and files that other users can read or replace', async (t) => {
  const { folder, file } = await validSettings(t)
  const secret = join(folder, 'secret.key')
  writeFileSync(secret, 'short\n', { mode: 0o644 })
  chmodSync(file, 0o640)
  chmodSync(folder, 0o770)
  const findings = await examine({ DATABASE_URL: `sqlite:${file}`, PORT: '0' })
  assert.deepEqual(problems(findings, 'secret'), [`error: the content of ${secret} should be at least 32 bytes, has 5`])
  assert.deepEqual(problems(findings, 'files'), [
    `error: other users of this machine can read ${file} (mode 640)`,
    `error: other users of this machine can read ${secret} (mode 644)`,
    `error: other users of this machine can write to ${folder} (mode 770)`,
  ])
})

plainTest('doctor reports a .env that other users can read', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, '.env'), 'PORT=0\n', { mode: 0o644 })
  const { code, stdout } = await runLatchkey(['doctor'], { cwd })
  assert.equal(code, 1)
  assert.match(stdout, /^error {4}files {5}other users of this machine can read \.env \(mode 644\)\n {19}→ Run: chmod 600 \.env\n/m)
})

plainTest('doctor does not advise to close a shared folder', async (t) => {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o1777)
  const shared = await examine({ DATABASE_URL: `sqlite:${folder}/latchkey.db`, PORT: '0' })
  assert.deepEqual(
    shared.filter(({ check }) => check === 'files').map(({ advice }) => advice),
    ['Move the database to a folder that only the service uses: this one is shared.'],
  )
  const [, ...parts] = folder.split('/')
  chmodSync(folder, 0o777)
  const mistaken = await examine({ DATABASE_URL: `sqlite:/${parts.join('/')}`, PORT: '0' })
  assert.ok(mistaken.every(({ advice }) => !advice?.endsWith(`chmod 600 ${folder}`)))
  assert.deepEqual(problems(mistaken, 'database'), [
    `error: DATABASE_URL: the SQLite file ${folder} cannot be used: it is a folder (not a file)`,
  ])
})

plainTest('doctor reports a disk that is full or nearly full', (t) => {
  const config = loadConfig({ DATABASE_URL: `sqlite:${temporaryFolder(t)}/not/yet/there.db` })
  const verdictAt = (bytes: number) => checkDisk(config, () => bytes).map(({ verdict }) => verdict)
  assert.deepEqual([10_000_000, 100_000_000, 1_000_000_000].map(verdictAt), [['error'], ['warning'], ['ok']])
})
