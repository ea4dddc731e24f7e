import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { type Actor, admin, member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { storedKinds } from '../../../support/app/audit.ts'
import { type AuthenticatorOptions, createAuthenticator } from '../../../support/app/authenticator.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { type ContractContext, test } from '../../../support/databases/databases.ts'

const PATH = '/users/me/passkeys'
const BASE_URL = 'https://id.example.com'
const SETTINGS = { env: { BASE_URL } } as const
const PARTY = { origin: BASE_URL, rpId: 'id.example.com' }

type Client = Pick<Actor, 'headers'>
const NOBODY: Client = { headers: {} }

function caller({ app }: TestApp, { headers }: Client) {
  return (method: 'GET' | 'POST' | 'DELETE' | 'PATCH', url: string, payload?: object) =>
    app.inject({ method, url, headers, ...(payload && { payload }) })
}

async function add(service: TestApp, user: Client, options: AuthenticatorOptions = {}) {
  const call = caller(service, user)
  const authenticator = createAuthenticator({ ...PARTY, ...options })
  const created = authenticator.create((await call('POST', `${PATH}/options`)).json())
  return { authenticator, response: await call('POST', PATH, { name: ' My phone ', credential: created }) }
}

async function ask(service: TestApp, payload: object = {}) {
  return (await caller(service, NOBODY)('POST', '/login/passkey/options', payload)).json()
}

const signIn = (service: TestApp, credential: object) => caller(service, NOBODY)('POST', '/login/passkey', { credential })

test('a passkey is added, listed, renamed, used to sign in, and removed', async (t) => {
  const service = await startApp(t, SETTINGS)
  const mia = await member(service)
  const { authenticator, response } = await add(service, mia)
  assert.equal(response.statusCode, 201, response.body)
  const { id, ...view } = response.json()
  assert.deepEqual(view, {
    name: 'My phone',
    created_at: new Date(service.clock.now()).toISOString(),
    last_used_at: null,
    backed_up: false,
  })
  const options = await ask(service)
  assert.deepEqual(options.allowCredentials, [])
  const signedIn = await signIn(service, authenticator.get(options))
  assert.equal(signedIn.statusCode, 200, signedIn.body)
  const headers = { authorization: `Bearer ${signedIn.json().token}` }
  const sessions = (await service.app.inject({ url: '/users/me/sessions', headers })).json()
  const session = sessions.find(({ current }: { current: boolean }) => current)
  assert.deepEqual([session.method, session.second_factor], ['passkey', true])
  const call = caller(service, mia)
  assert.equal((await call('PATCH', `${PATH}/${id}`, { name: 'Old phone' })).json().name, 'Old phone')
  assert.deepEqual(
    (await call('GET', PATH)).json().map(({ name, last_used_at }: Record<string, unknown>) => [name, last_used_at !== null]),
    [['Old phone', true]],
  )
  assert.equal((await call('DELETE', `${PATH}/${id}`)).statusCode, 204)
  refused(await call('DELETE', `${PATH}/${id}`), 404, 'Passkey not found')
  refused(await signIn(service, authenticator.get(await ask(service))), 401, 'Invalid passkey')
})

const TAKE_PASSWORD = statement("update users set password_hash = '!' where id = $1")

/** Somebody with passkeys and without a password, as after an invitation. */
async function withPasskeysOnly(t: ContractContext, count: number, env: Readonly<Record<string, string>> = {}) {
  const service = await startApp(t, { env: { BASE_URL, ...env } })
  const mia = await member(service)
  const added: Awaited<ReturnType<typeof add>>[] = []
  for (let index = 0; index < count; index++) added.push(await add(service, mia))
  await service.db.run(TAKE_PASSWORD, mia.id)
  const remove = ({ response }: (typeof added)[number]) => caller(service, mia)('DELETE', `${PATH}/${response.json().id}`)
  return { service, mia, added, remove }
}

test('400: the last passkey stays if it is the only way to sign in', async (t) => {
  const { service, mia, added, remove } = await withPasskeysOnly(t, 1)
  const [passkey = assert.fail()] = added
  const kinds = await storedKinds(service.db)
  refused(await remove(passkey), 400, 'This is the only way to sign in')
  assert.equal((await signIn(service, passkey.authenticator.get(await ask(service)))).statusCode, 200)
  assert.deepEqual(
    (await storedKinds(service.db)).slice(kinds.length).map((kind) => kind.split(' ')[0]),
    ['session.created'],
  )
  assert.equal((await caller(service, mia)('POST', '/users/me/password', { password: 'a long enough password' })).statusCode, 204)
  assert.equal((await remove(passkey)).statusCode, 204)
})

test('204: the last passkey goes where people sign in by mail', async (t) => {
  const { added, remove } = await withPasskeysOnly(t, 1, { EMAIL_SIGN_IN: 'true' })
  for (const passkey of added) assert.equal((await remove(passkey)).statusCode, 204)
})

test('400: of two passkeys that are removed at once, one stays', async (t) => {
  const { added, remove } = await withPasskeysOnly(t, 2)
  const answers = await Promise.all(added.map(remove))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).toSorted(), [204, 400])
})

test('401: an answer works once, also for many requests at once, and for five minutes', async (t) => {
  const service = await startApp(t, SETTINGS)
  const { authenticator } = await add(service, await member(service))
  const answer = authenticator.get(await ask(service))
  const answers = await Promise.all(Array.from({ length: 20 }, () => signIn(service, answer)))
  assert.deepEqual([...new Set(answers.map(({ statusCode }) => statusCode))].sort(), [200, 401])
  assert.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1)
  const late = authenticator.get(await ask(service))
  service.clock.advance({ minutes: 6 })
  refused(await signIn(service, late), 401, 'Invalid passkey')
})

test('401 and 400: another origin, another domain, no user verification, a foreign challenge, or a changed signature', async (t) => {
  const service = await startApp(t, SETTINGS)
  const mia = await member(service)
  for (const wrong of [{ origin: 'https://evil.example.com' }, { rpId: 'example.com' }, { verifiesUser: false }]) {
    refused((await add(service, mia, wrong)).response, 400, 'Invalid passkey')
  }
  const { authenticator } = await add(service, mia)
  const foreign = createAuthenticator(PARTY)
  refused(await signIn(service, foreign.get(await ask(service))), 401, 'Invalid passkey')
  const own = authenticator.get({ ...(await ask(service)), challenge: Buffer.from('made up').toString('base64url') })
  refused(await signIn(service, own), 401, 'Invalid passkey')
  const changed = authenticator.get(await ask(service))
  refused(await signIn(service, { ...changed, response: { ...changed.response, signature: 'AAAA' } }), 401, 'Invalid passkey')
  for (const credential of [{}, { id: 1 }, { ...changed, response: null }])
    refused(await signIn(service, credential), 401, 'Invalid passkey')
})

test('401: a counter that goes back is refused and recorded', async (t) => {
  const service = await startApp(t, SETTINGS)
  const mia = await member(service)
  const { authenticator } = await add(service, mia, { counter: 5 })
  assert.equal((await signIn(service, authenticator.get(await ask(service)))).statusCode, 200)
  authenticator.turnBack(3)
  refused(await signIn(service, authenticator.get(await ask(service))), 401, 'Invalid passkey')
  await service.app.close()
  assert.equal((await storedKinds(service.db)).at(-1), `factor.failed ${mia.id}`)
})

test('401: a banned owner gets the answer of a login', async (t) => {
  const service = await startApp(t, SETTINGS)
  const mia = await member(service)
  const { authenticator } = await add(service, mia)
  await caller(service, await admin(service))('POST', `/users/${mia.id}/ban`)
  refused(await signIn(service, authenticator.get(await ask(service))), 401, 'This User is banned')
})

test('400: the same authenticator twice, and more than twenty passkeys', async (t) => {
  const service = await startApp(t, SETTINGS)
  const mia = await member(service)
  const { authenticator } = await add(service, mia)
  const again = authenticator.create((await caller(service, mia)('POST', `${PATH}/options`)).json())
  refused(await caller(service, mia)('POST', PATH, { name: 'again', credential: again }), 400, 'Invalid passkey')
  for (let n = 1; n < 20; n++) assert.equal((await add(service, mia)).response.statusCode, 201)
  refused(await caller(service, mia)('POST', `${PATH}/options`), 400, 'Too many passkeys')
})

test('404: where the address of the service cannot have passkeys', async (t) => {
  for (const url of ['http://192.0.2.7', 'http://id.example.com', 'https://192.0.2.7']) {
    const service = await startApp(t, { env: { BASE_URL: url } })
    refused(await caller(service, await member(service))('GET', PATH), 404, 'Not Found')
    refused(await caller(service, NOBODY)('POST', '/login/passkey/options', {}), 404, 'Not Found')
  }
})
