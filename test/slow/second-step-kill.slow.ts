import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { codeAt } from '../../src/security/totp.ts'
import { createAuthenticator } from '../support/app/authenticator.ts'
import { eventually } from '../support/app/eventually.ts'
import { freshDatabase, temporaryFolder, test } from '../support/databases/databases.ts'
import { PASSWORD } from '../support/http/requests.ts'
import { askPatiently } from '../support/load/traffic.ts'
import { startProcess } from '../support/processes/service-process.ts'

const EMAIL = 'admin@example.com'
const PARTY = { origin: 'http://localhost', rpId: 'localhost' }
const PATH = '/users/me/second-factor'
type Body = Record<string, string>

/** A service that can be killed and started again on the same database. */
async function startMortal(t: TestContext, databaseUrl: string) {
  const folder = temporaryFolder(t)
  const env = { DATABASE_URL: databaseUrl, ADMIN_EMAIL: EMAIL, ADMIN_PASSWORD: PASSWORD, BASE_URL: PARTY.origin, LOG_LEVEL: 'error' }
  let service = await startProcess(t, env, folder)
  return {
    post: async (path: string, body: unknown, headers: Body = {}) => {
      const { status, body: answer } = await askPatiently(service.url, 'POST', path, body, headers)
      return { status, body: answer as Body }
    },
    async killAndStart() {
      service.process.kill('SIGKILL')
      await once(service.process, 'close')
      service = await startProcess(t, env, folder)
    },
  }
}

const codeNow = (secret: string) => codeAt(secret, Math.floor(Date.now() / 30_000))

/** A code that works once needs another step of the clock: this waits for the next one. */
async function nextCode(secret: string, used: string): Promise<string> {
  return eventually('the next code', async () => (codeNow(secret) === used ? undefined : codeNow(secret)))
}

test('a service that is killed between two steps continues with the second: codes that are turned on, a login, and a passkey', async (t) => {
  const databaseUrl = t.database === 'sqlite' ? 'sqlite:data/latchkey.db' : (await freshDatabase(t, 'postgres')).setting
  const { post, killAndStart } = await startMortal(t, databaseUrl)
  const credentials = { email: EMAIL, password: PASSWORD }
  const { token } = (await post('/login/', credentials)).body
  const bearer = { authorization: `Bearer ${token}` }

  const { secret = '' } = (await post(`${PATH}/totp`, undefined, bearer)).body
  await killAndStart()
  assert.equal((await post('/login/', credentials)).status, 200, 'nothing is on before it is confirmed')
  const first = codeNow(secret)
  const on = await post(`${PATH}/totp/confirm`, { code: first }, bearer)
  assert.equal(on.status, 200, JSON.stringify(on.body))
  const recoveryCodes = on.body['recovery_codes'] as unknown as readonly string[]
  await killAndStart()

  const begin = async () => {
    const { status, body } = await post('/login/', credentials)
    assert.deepEqual([status, body['detail']], [401, 'Second factor required'])
    return body['challenge']
  }
  const complete = async (answer: object) => (await post('/login/second-factor', answer)).status
  const challenge = await begin()
  const other = await begin()
  await killAndStart()
  assert.equal(await complete({ challenge, code: first }), 401, 'the code that turned codes on is used up')
  const code = await nextCode(secret, first)
  assert.equal(await complete({ challenge, code }), 200)
  await killAndStart()
  assert.equal(await complete({ challenge, code: recoveryCodes[0] }), 401, 'the challenge is used up')
  assert.equal(await complete({ challenge: other, code }), 401, 'the code is used up')
  assert.equal(await complete({ challenge: other, code: recoveryCodes[0] }), 200)
  await killAndStart()
  assert.equal(await complete({ challenge: await begin(), code: recoveryCodes[0] }), 401, 'the recovery code is used up')

  const authenticator = createAuthenticator(PARTY)
  const options = (await post('/users/me/passkeys/options', undefined, bearer)).body
  await killAndStart()
  const created = authenticator.create(options as never)
  assert.equal((await post('/users/me/passkeys', { name: 'My phone', credential: created }, bearer)).status, 201)
  const question = (await post('/login/passkey/options', {})).body
  await killAndStart()
  const credential = authenticator.get(question as never)
  assert.equal((await post('/login/passkey', { credential })).status, 200)
  await killAndStart()
  assert.equal((await post('/login/passkey', { credential })).status, 401, 'the answer is used up')
  const last = await begin()
  const asked = (await post('/login/passkey/options', { challenge: last })).body
  await killAndStart()
  assert.equal(await complete({ challenge: last, passkey: authenticator.get(asked as never) }), 200)
})
