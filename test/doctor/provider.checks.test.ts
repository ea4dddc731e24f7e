import assert from 'node:assert/strict'
import { examine } from '../../src/doctor/examine.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { member } from '../support/app/actors.ts'
import { startApp, TEST_SECRET } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { addFactors } from '../support/databases/factors.ts'
import { problems } from '../support/processes/doctor.ts'
import { freePort } from '../support/servers/free-port.ts'
import { providerEnv, startIdentityProvider } from '../support/servers/identity-provider.ts'

test('doctor names providers that do not answer as their issuer, and accounts whose provider is gone', async (t) => {
  const service = await startApp(t)
  const { database } = service.config
  const DATABASE_URL = database.kind === 'sqlite' ? `sqlite:${database.file}` : database.url
  const found = (env: Record<string, string>) => examine({ DATABASE_URL, SECRET_KEY: TEST_SECRET, PORT: '0', ...env })
  assert.deepEqual(
    (await found({})).filter(({ check }) => check === 'providers'),
    [],
    'nothing is set',
  )
  const provider = await startIdentityProvider(t)
  const silent = `http://127.0.0.1:${await freePort()}`
  const both = { SIGN_IN_PROVIDERS: 'acme,corp', ...provider.env('acme'), ...providerEnv('corp', silent) }
  const findings = await found(both)
  const [answers] = findings.filter(({ check, verdict }) => check === 'providers' && verdict === 'ok')
  assert.equal(answers?.message, `acme answers (${provider.url})`)
  const [down, ...others] = problems(findings, 'providers')
  assert.match(down ?? '', /^warning: nobody can sign in with corp/)
  assert.deepEqual(others, [])
  assert.ok(!JSON.stringify(findings).includes('secret-of-the-client'))
  provider.lie({ metadata: { issuer: 'https://evil.example' } })
  assert.match(problems(await found(both), 'providers')[0] ?? '', /^warning: nobody can sign in with acme/)

  const mia = await member(service)
  const db = await openDatabase(database)
  t.after(() => db.close())
  await db.transaction((tx) => addFactors(tx, mia.id))
  assert.deepEqual(problems(await found({}), 'providers'), [
    'warning: 1 account cannot be opened with acme, which SIGN_IN_PROVIDERS does not name',
  ])
  provider.lie({})
  const acme = { SIGN_IN_PROVIDERS: 'acme', ...provider.env('acme') }
  assert.deepEqual(problems(await found(acme), 'providers'), [
    'warning: 1 account cannot be opened with acme, whose issuer was another one when they were connected',
  ])
})
