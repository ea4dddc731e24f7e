import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { member } from '../../../support/app/actors.ts'
import { storedEvents } from '../../../support/app/audit.ts'
import { enrol, WITH_PASSKEYS } from '../../../support/app/factors.ts'
import { startApp, TEST_SECRET } from '../../../support/app/start-app.ts'
import { temporaryFolder, test } from '../../../support/databases/databases.ts'
import { login } from '../../../support/http/requests.ts'
import { done, json, refusedWith, runLatchkey } from '../../../support/processes/command-line.ts'

const LEFT = statement<{ count: number }>(`
  select (select count(*) from totp_secrets) + (select count(*) from recovery_codes) + (select count(*) from passkeys)
    + (select count(*) from sessions) as count`)

test('user reset-second-factor removes everything besides the password, ends the sessions and says so', async (t) => {
  const service = await startApp(t, { env: WITH_PASSKEYS })
  const { app, db, config } = service
  const mia = await member(service)
  await enrol(service, mia)
  const url = config.database.kind === 'sqlite' ? `sqlite:${config.database.file}` : config.database.url
  const cwd = temporaryFolder(t)
  const run = (...args: string[]) => runLatchkey(['user', ...args], { cwd, env: { DATABASE_URL: url, SECRET_KEY: TEST_SECRET } })
  const factors = { totp: true, passkeys: 1, recovery_codes: 10 }
  const shown = json(await run('show', mia.email, '--json')) as { second_factor: object }
  assert.deepEqual(shown.second_factor, factors)
  assert.match((await run('show', mia.email)).stdout, /SECOND FACTOR\n.*codes of an app, 10 recovery codes, 1 passkey\n$/)
  const label = `user ${mia.id} (${mia.email})`
  done(
    await run('reset-second-factor', mia.email),
    `removed the second factor of ${label} (codes of an app, 10 recovery codes, 1 passkey) and ended all its sessions; the password is unchanged\n`,
  )
  assert.equal(Number((await db.first(LEFT))?.count), 0)
  assert.ok((await storedEvents(db)).some(({ kind, target }) => kind === 'factor.reset' && target === mia.id))
  assert.equal((await app.inject(login(mia))).statusCode, 200)
  done(await run('reset-second-factor', mia.email, '--yes'), `${label} has no second factor; nothing was changed\n`)
  const again = json(await run('reset-second-factor', String(mia.id), '--json')) as { removed: object }
  assert.deepEqual(again.removed, { totp: false, passkeys: 0, recovery_codes: 0 })
  refusedWith(await run('reset-second-factor', '987'), 1, 'there is no such user')
})
