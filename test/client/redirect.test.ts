import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createClient, LatchkeyError } from '../../packages/client/src/index.ts'
import { member } from '../support/app/actors.ts'
import { follow, hiddenFields, PRODUCT, WITH_PRODUCT } from '../support/app/hand-off.ts'
import { startListening } from '../support/client/listening.ts'
import { credentials, sessionCookie, submit, visit } from '../support/http/pages.ts'

/** A tab of a browser: its address, its history and its storage. */
function openTab(t: TestContext, address: string) {
  const kept = new Map<string, string>()
  const tab = { href: address, opened: '', states: [] as unknown[] }
  const parts = {
    location: {
      get href() {
        return tab.href
      },
      assign(url: string) {
        tab.opened = url
      },
    },
    history: {
      replaceState(state: unknown, _unused: string, url: URL) {
        tab.states.push(state)
        tab.href = String(url)
      },
    },
    sessionStorage: {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    },
  }
  for (const [name, value] of Object.entries(parts)) {
    const former = Object.getOwnPropertyDescriptor(globalThis, name)
    Object.defineProperty(globalThis, name, { value, configurable: true })
    t.after(() => {
      if (former) Object.defineProperty(globalThis, name, former)
      else Reflect.deleteProperty(globalThis, name)
    })
  }
  return { tab, kept }
}

async function start(t: TestContext) {
  const service = await startListening(t, { env: { ...WITH_PRODUCT } })
  const mia = await member(service)
  const { tab, kept } = openTab(t, `${PRODUCT}/notes?view=all#top`)
  const client = createClient({ url: `${service.url}/`, now: service.clock.now })

  /** Signs in at the address that the tab was led to, which leads back. */
  async function signIn(): Promise<void> {
    const { pathname, search } = new URL(tab.opened)
    const form = await service.app.inject(visit(`${pathname}${search}`))
    const signedIn = await service.app.inject(submit('/account/sign-in', { ...hiddenFields(form), ...credentials(mia) }))
    tab.href = String((await follow(service, signedIn, sessionCookie(signedIn))).headers.location)
  }
  return { service, mia, client, tab, kept, signIn }
}

test('a page begins a sign-in, and completes it once', async (t) => {
  const { service, mia, client, tab, kept, signIn } = await start(t)
  assert.equal(await client.completeSignIn(), null)
  assert.equal(tab.href, `${PRODUCT}/notes?view=all#top`)
  await client.signInWithRedirect({ returnTo: '/in?view=all' })
  assert.ok(
    tab.opened.startsWith(`${service.url}/account/sign-in?return_to=https%3A%2F%2Fapp.example.com%2Fin%3Fview%3Dall&code_challenge=`),
  )
  assert.equal(kept.size, 1)
  await signIn()
  assert.match(tab.href, /code=/)
  const [tokens, second] = await Promise.all([client.completeSignIn(), client.completeSignIn()])
  assert.deepEqual([typeof tokens?.token, second], ['string', null], 'calls at the same time use the code once')
  assert.equal(tab.href, `${PRODUCT}/in?view=all`)
  assert.equal(kept.size, 0)
  assert.equal((await client.me()).email, mia.email)
})

test('a code that this tab did not ask for is refused without being used, and leaves the address bar', async (t) => {
  const { client, tab, kept, signIn } = await start(t)
  kept.set('of the product', 'a secret')
  await client.signInWithRedirect({ returnTo: '/', page: 'register' })
  assert.match(tab.opened, /\/account\/register\?/)
  await client.signInWithRedirect({ returnTo: '/' })
  await signIn()
  const right = new URL(tab.href)
  for (const state of ['another', 'of the product']) {
    right.searchParams.set('state', state)
    tab.href = right.href
    await assert.rejects(
      client.completeSignIn(),
      (error) => error instanceof LatchkeyError && error.code === 'unknown_state' && error.status === 0,
    )
    assert.equal(tab.href, `${PRODUCT}/`)
  }
  assert.equal(kept.get('of the product'), 'a secret')
  // A code without a state is not one of these: the page may have its own.
  tab.href = `${PRODUCT}/reset-password?code=1`
  assert.equal(await client.completeSignIn(), null)
  assert.equal(tab.href, `${PRODUCT}/reset-password?code=1`)
})

test('an exchange that is refused throws the error of the service, and stores nothing', async (t) => {
  const { service, client, tab, signIn } = await start(t)
  await client.signInWithRedirect({ returnTo: '/' })
  await signIn()
  service.clock.advance({ minutes: 2 })
  await assert.rejects(client.completeSignIn(), { code: 'invalid_code', status: 401 })
  assert.equal(tab.href, `${PRODUCT}/`)
  await assert.rejects(client.me(), { code: 'not_authenticated' })
})
