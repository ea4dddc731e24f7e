import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { statement } from '../../../../src/storage/database.ts'
import { createBrowser, leadsTo } from '../../../support/app/provider-browser.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { textOf } from '../../../support/http/pages.ts'
import { startGitHub } from '../../../support/servers/github.ts'
import { type Lies, type Person, providerEnv, startIdentityProvider } from '../../../support/servers/identity-provider.ts'
import { serve } from '../../../support/servers/listen.ts'
import { startOidcProvider } from '../../../support/servers/oidc-provider.ts'

const COUNT = statement<{ count: number }>('select count(*) as count from users')
const START = '/login/with/acme'
const MIA: Person = { sub: 'mia', email: 'mia@example.com', email_verified: true }
const CALLBACK = 'http://localhost:8000/login/with/acme/callback'

async function startLiar(t: TestContext) {
  const provider = await startIdentityProvider(t)
  const service = await startApp(t, { env: { SIGN_IN_PROVIDERS: 'acme', ...provider.env('acme') } })
  const browser = createBrowser(service)
  const signIn = async (person = MIA, lies: Lies = {}) => {
    provider.lie({})
    const back = provider.authorize(leadsTo(await browser.open(START)), person)
    provider.lie(lies)
    return browser.open(back)
  }
  const countUsers = async () => Number((await service.db.first(COUNT))?.count)
  return { ...service, provider, browser, signIn, countUsers }
}

const HOUR_S = 3600
const now = () => Math.floor(Date.now() / 1000)

test('401: an answer with a wrong nonce or none, with a wrong issuer, audience, signature or time signs nobody in', async (t) => {
  const { signIn, browser, countUsers, logged } = await startLiar(t)
  const wrong: Readonly<Record<string, Lies>> = {
    nonce: { claims: { nonce: 'another' } },
    'no nonce': { claims: { nonce: undefined } },
    issuer: { claims: { iss: 'https://evil.example' } },
    audience: { claims: { aud: 'another-client' } },
    'several audiences': { claims: { aud: ['latchkey', 'another-client'] } },
    expiry: { claims: { exp: now() - HOUR_S, iat: now() - 2 * HOUR_S } },
    'a time to come': { claims: { nbf: now() + HOUR_S } },
    signature: { signsWithForeignKey: true },
    'no subject': { claims: { sub: '' } },
    'a long subject': { claims: { sub: 'x'.repeat(256) } },
    'a subject with NUL': { claims: { sub: 'a\u0000b' } },
    // Both would be stored as the same text, and the second would open the account of the first.
    'a subject with a lone surrogate': { claims: { sub: 'a\ud800b' } },
    'a subject with another one': { claims: { sub: 'a\udfffb' } },
  }
  for (const [name, lies] of Object.entries(wrong)) {
    const response = await signIn(MIA, lies)
    assert.equal(response.headers['x-error-code'], 'provider_refused', name)
    assert.equal(response.statusCode, 401, name)
    assert.match(textOf(response), /You are not signed in.*Start again, or sign in another way/, name)
    assert.equal(browser.isSignedIn(), false, name)
  }
  assert.equal(await countUsers(), 0)
  assert.ok(!logged.join('').includes('secret-of-the-client'))
})

test('303: to connect, the provider asks for a new login, or for the account where it says that it can', async (t) => {
  const { provider, browser, clock } = await startLiar(t)
  const promptOf = async (url: string) => new URL(leadsTo(await browser.open(url))).searchParams.get('prompt')
  assert.deepEqual([await promptOf(START), await promptOf(`${START}?connect=true`)], [null, 'login'])
  provider.lie({ metadata: { prompt_values_supported: ['login', 'select_account'] } })
  clock.advance({ hours: 1 })
  assert.equal(await promptOf(`${START}?connect=true`), 'select_account')
})

test('303: a key that the provider has just replaced is known at once', async (t) => {
  const { signIn, provider } = await startLiar(t)
  leadsTo(await signIn())
  await provider.rotateKey()
  leadsTo(await signIn())
  assert.equal(provider.requests.filter((path) => path === '/.well-known/openid-configuration').length, 1, 'the metadata are kept')
})

test('401: somebody who cancels at the provider reads what happened', async (t) => {
  const { browser } = await startLiar(t)
  const state = new URL(leadsTo(await browser.open(START))).searchParams.get('state') ?? ''
  const response = await browser.open(`${CALLBACK}?error=access_denied&state=${state}`)
  assert.deepEqual([response.statusCode, response.headers['x-error-code']], [401, 'provider_refused'])
  assert.match(textOf(response), /The sign-in was cancelled/)
})

test('503: a provider that is down, slow, moves or sends too much stops neither the start nor other ways to sign in', async (t) => {
  const { provider, browser, app, signIn } = await startLiar(t)
  const unavailable = async (reason: string) => {
    const response = await browser.open(START)
    assert.deepEqual([response.statusCode, response.headers['x-error-code']], [503, 'provider_unavailable'], reason)
    assert.match(textOf(response), /The provider cannot be reached/, reason)
    assert.ok(response.headers['retry-after'])
  }
  provider.lie({ movesTo: 'http://127.0.0.1:1/.well-known/openid-configuration' })
  await unavailable('redirect')
  provider.lie({ metadata: { padding: 'x'.repeat(600 * 1024) } })
  await unavailable('too large')
  provider.lie({ metadata: { authorization_endpoint: 'http://evil.example/authorize' } })
  await unavailable('an address without TLS')
  provider.lie({ isSilent: true })
  const begun = performance.now()
  await unavailable('silent')
  assert.ok(performance.now() - begun < 10_000)
  provider.lie({ metadata: { issuer: 'https://evil.example' } })
  assert.equal((await browser.open(START)).headers['x-error-code'], 'provider_refused')
  assert.equal((await signIn(MIA, { tokenStatus: 502 })).headers['x-error-code'], 'provider_unavailable')
  // It recovers, and its metadata are used while it is down.
  leadsTo(await signIn())
  await provider.stop()
  leadsTo(await browser.open(START))
  assert.equal((await app.inject({ url: '/account/sign-in' })).statusCode, 200)
})

test('303: a real provider of OpenID Connect, whose address is at its userinfo endpoint', async (t) => {
  const url = await startOidcProvider(t, CALLBACK)
  const service = await startApp(t, { env: { SIGN_IN_PROVIDERS: 'acme', ...providerEnv('acme', url) } })
  const browser = createBrowser(service)
  const back = await signInAt(leadsTo(await browser.open(START)), 'mia')
  assert.equal(leadsTo(await browser.open(back)), '/account/')
  assert.match(textOf(await browser.open('/account/')), /mia@example\.com/)
  assert.deepEqual(await service.services.providers.list(1), [
    { provider: 'acme', email: 'mia@example.com', connectedAt: service.clock.now() },
  ])
})

/** Signs in at the pages for development of a real provider. Returns where it leads back to. */
async function signInAt(start: string, name: string): Promise<string> {
  const jar = new Map<string, string>()
  let [url, form]: [string, string | undefined] = [start, undefined]
  for (let step = 0; step < 12; step++) {
    const response = await request(url, form, jar)
    const location = response.headers.get('location')
    if (location?.startsWith(CALLBACK)) return location
    const page = await response.text()
    const [, action = ''] = /action="([^"]+)"/.exec(page) ?? []
    form = location === null ? answerTo(page, name) : undefined
    url = new URL(location ?? action, url).href
  }
  return assert.fail('the provider does not lead back')
}

function answerTo(page: string, name: string): string {
  return page.includes('name="login"') ? `prompt=login&login=${name}&password=x` : 'prompt=consent'
}

async function request(url: string, form: string | undefined, jar: Map<string, string>): Promise<Response> {
  const cookie = [...jar].map(([key, value]) => `${key}=${value}`).join('; ')
  const sent = form === undefined ? {} : { method: 'POST', body: form }
  const type = form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }
  const response = await fetch(url, { redirect: 'manual', ...sent, headers: { cookie, ...type } })
  for (const set of response.headers.getSetCookie()) {
    const [, key = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
    jar.set(key, value)
  }
  return response
}

test('303: GitHub, by its documented OAuth and e-mail API; the primary address counts', async (t) => {
  const github = await startGitHub(t)
  const service = await startApp(t, {
    env: {
      SIGN_IN_PROVIDERS: 'github',
      PROVIDER_GITHUB_CLIENT_ID: 'latchkey',
      PROVIDER_GITHUB_CLIENT_SECRET: 'secret-of-the-client',
      PROVIDER_GITHUB_ISSUER: github.url,
    },
  })
  const signIn = async () => {
    const browser = createBrowser(service)
    return { browser, response: await browser.open(github.authorize(leadsTo(await browser.open('/login/with/github')))) }
  }
  assert.equal(leadsTo((await signIn()).response), '/account/')
  assert.deepEqual(await service.services.providers.list(1), [
    { provider: 'github', email: 'octocat@example.com', connectedAt: service.clock.now() },
  ])
  const [header] = github.headers
  assert.deepEqual(
    [header?.authorization, header?.accept, header?.['x-github-api-version']],
    ['Bearer gho_token', 'application/vnd.github+json', '2022-11-28'],
  )
  assert.ok(header?.['user-agent'])
  // Another person, whose primary address is not verified.
  github.become({
    user: { id: 2, login: 'eve', name: null },
    emails: [
      { email: 'octocat@example.com', primary: false, verified: true },
      { email: 'eve@example.com', primary: true, verified: false },
    ],
  })
  const { response, browser } = await signIn()
  assert.match(textOf(response), /Check your email.*eve@example\.com/)
  assert.equal(browser.isSignedIn(), false)
  github.become({ user: { id: 3, login: 'x', name: null }, emails: [] })
  assert.equal((await signIn()).response.headers['x-error-code'], 'provider_without_email')
  github.become({ user: { login: 'x' } as never, emails: [] })
  assert.equal((await signIn()).response.headers['x-error-code'], 'provider_refused')
  // GitHub answers with status 200 and an error to a code that does not work.
  const late = createBrowser(service)
  const back = new URL(github.authorize(leadsTo(await late.open('/login/with/github'))))
  back.searchParams.set('code', 'wrong')
  assert.equal((await late.open(back.href)).headers['x-error-code'], 'provider_refused')
})

test('Microsoft: the claim about the domain counts for the address beside it, and for no other', async (t) => {
  const provider = await startIdentityProvider(t)
  const service = await startApp(t, { env: { SIGN_IN_PROVIDERS: 'microsoft', ...providerEnv('microsoft', provider.url) } })
  const metadata = { userinfo_endpoint: `${provider.url}/userinfo` }
  const signIn = async (sub: string, claims: Readonly<Record<string, unknown>>, userinfo: object) => {
    provider.lie({ metadata, claims, userinfo: { sub, ...userinfo } })
    const browser = createBrowser(service)
    const response = await browser.open(provider.authorize(leadsTo(await browser.open('/login/with/microsoft')), { sub }))
    assert.ok(response.statusCode === 200 || response.statusCode === 303, response.body)
    return browser.isSignedIn()
  }
  assert.equal(
    await signIn('a', { xms_edov: true }, { email: 'a@example.com' }),
    false,
    'the claim of the token, the address of the endpoint',
  )
  assert.equal(await signIn('b', { email: 'b@example.com' }, { xms_edov: true }), false, 'and the other way round')
  assert.equal(await signIn('c', { email: 'c@example.com', email_verified: true }, {}), false, 'the claim of other providers')
  assert.equal(await signIn('d', { email: 'd@example.com', xms_edov: '1' }, {}), true)
  assert.equal(await signIn('e', {}, { email: 'e@example.com', xms_edov: 1 }), true)
})

test('503: nothing listens at the issuer', async (t) => {
  const gone = await serve(t, () => undefined)
  await gone.stop()
  const { app } = await startApp(t, { env: { SIGN_IN_PROVIDERS: 'acme', ...providerEnv('acme', gone.url) } })
  const response = await app.inject({ url: START })
  assert.deepEqual([response.statusCode, response.json()], [503, { detail: 'Provider is unavailable' }])
})
