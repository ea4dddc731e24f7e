import assert from 'node:assert/strict'
import { examine } from '../../src/doctor/examine.ts'
import { createChanges } from '../../src/domain/changes/changes.ts'
import { createSecretUse } from '../../src/domain/operations/secret-use.ts'
import { secretsOf } from '../../src/process/secrets.ts'
import { member } from '../support/app/actors.ts'
import { sealerOf } from '../support/app/audit.ts'
import { startApp, TEST_SECRET } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { problems } from '../support/processes/doctor.ts'

test('doctor reports events that a running service does not seal, and an end that was sealed with another secret', async (t) => {
  const service = await startApp(t)
  const { config, clock, db } = service
  const database = config.database.kind === 'sqlite' ? `sqlite:${config.database.file}` : config.database.url
  const doctor = async (secret = TEST_SECRET) =>
    examine({ DATABASE_URL: database, SECRET_KEY: secret, PORT: '0' }, { now: clock.now }).then((findings) => ({
      problems: problems(findings, 'audit'),
      messages: findings.filter(({ check }) => check === 'audit').map(({ message }) => message),
    }))
  await member(service)
  await sealerOf(service).run()
  await member(service)
  clock.advance({ minutes: 2 })
  assert.deepEqual(await doctor(), { problems: [], messages: ['1 event sealed; the next start seals those that were added since'] })
  const changes = createChanges({ db, now: clock.now, followUps: () => [], onEvent: () => undefined })
  const onFailure = (error: unknown) => assert.fail(String(error))
  await createSecretUse({ changes, now: clock.now, secrets: secretsOf(config), onFailure }).run()
  assert.match((await doctor()).problems.join(), /^error: new events have not been sealed since \S+Z$/)
  await sealerOf(service).run()
  assert.deepEqual(await doctor(), { problems: [], messages: ['2 events sealed'] })
  const other = await doctor('fK5pX8wQ2vB7nM4jH1tR6yU3eG9sD0aL')
  assert.match(other.problems.join(), /^error: new events are not sealed: the end of the chain was sealed with a secret that is neither/)
})
