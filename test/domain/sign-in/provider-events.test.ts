import assert from 'node:assert/strict'
import { statement } from '../../../src/storage/database.ts'
import { member } from '../../support/app/actors.ts'
import { sealerOf, storedEvents, storedKinds } from '../../support/app/audit.ts'
import { createBrowser, leadsTo } from '../../support/app/provider-browser.ts'
import { caller } from '../../support/app/second-factor.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'
import { startIdentityProvider } from '../../support/servers/identity-provider.ts'
import { WEBHOOK_SECRET } from '../../support/servers/webhook-receiver.ts'

const DELIVERIES = statement<{ type: string; user_id: number }>('select type, user_id from webhook_deliveries order by id')
const MAILS = statement<{ kind: string; recipient: string }>('select kind, recipient from outbox order by id')
const IDENTITIES = statement<object>('select * from identities')

test('connecting and disconnecting a provider is in the trail, is sent as a webhook, and the owner gets a mail', async (t) => {
  const provider = await startIdentityProvider(t)
  const env = {
    SIGN_IN_PROVIDERS: 'acme',
    ...provider.env('acme'),
    SECURITY_NOTICES: 'true',
    WEBHOOK_URL: 'https://hooks.example.com/',
    WEBHOOK_SECRET,
    WEBHOOK_EVENTS: 'provider.connected,provider.disconnected',
    METRICS_ENABLED: 'true',
  }
  const service = await startApp(t, { env })
  const mia = await member(service)
  const browser = createBrowser(service)
  const person = { sub: 'mia', email: mia.email, email_verified: true }
  const signIn = async () => leadsTo(await browser.open(provider.authorize(leadsTo(await browser.open('/login/with/acme')), person)))
  const successes = async () =>
    Number(/^latchkey_login_attempts_total\{status="success"\} (\d+)$/m.exec((await service.app.inject('/metrics')).body)?.[1])
  assert.equal(await signIn(), '/account/connect')
  await browser.send('/account/sign-in', { email: mia.email, password: mia.password })
  assert.equal(leadsTo(await browser.send('/account/connect/confirm')), '/account/security')
  const before = await successes()
  assert.equal(await signIn(), '/account/')
  assert.equal(await successes(), before + 1)
  assert.equal((await caller(service, mia)('DELETE', '/users/me/providers/acme')).statusCode, 204)
  const mails = (await service.db.all(MAILS)).filter(({ recipient }) => recipient.includes(mia.email)).map(({ kind }) => kind)
  assert.deepEqual(mails, ['provider_connected', 'provider_disconnected'])
  await service.app.close()
  const kinds = (await storedKinds(service.db)).filter((kind) => kind.startsWith('provider.'))
  assert.deepEqual(kinds, [`provider.connected ${mia.id}`, `provider.disconnected ${mia.id}`])
  assert.deepEqual(
    (await service.db.all(DELIVERIES)).map(({ type, user_id }) => [type, Number(user_id)]),
    [
      ['provider.connected', mia.id],
      ['provider.disconnected', mia.id],
    ],
  )
})

test('a deleted account leaves no account of a provider behind, and an erasure no detail of its events', async (t) => {
  const provider = await startIdentityProvider(t)
  const service = await startApp(t, { env: { SIGN_IN_PROVIDERS: 'acme', ...provider.env('acme') } })
  const browser = createBrowser(service)
  const person = { sub: 'mia', email: 'mia@example.com', email_verified: true }
  const signIn = async () => leadsTo(await browser.open(provider.authorize(leadsTo(await browser.open('/login/with/acme')), person)))
  await signIn()
  const [event] = (await storedEvents(service.db)).filter(({ kind }) => kind === 'provider.connected')
  const id = event?.target ?? assert.fail('no event')
  await service.services.userAdministration.remove(OPERATOR, id)
  assert.deepEqual(await service.db.all(IDENTITIES), [])
  await sealerOf(service).run()
  await service.services.audit.erase(OPERATOR, id)
  const [erased] = (await storedEvents(service.db)).filter(({ kind }) => kind === 'provider.connected')
  assert.deepEqual([erased?.ip, erased?.detail], [null, null])
  assert.equal(await signIn(), '/account/', 'a new account')
  const targets = (await storedEvents(service.db)).filter(({ kind }) => kind === 'provider.connected').map(({ target }) => target)
  assert.equal(new Set(targets).size, 2)
})
