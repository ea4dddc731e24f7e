import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { TestContext } from 'node:test'
import { Provider } from 'oidc-provider'
import type { Page } from 'playwright-core'
import { listen } from './listen.ts'

/** A real provider of OpenID Connect, with its pages for development: whatever name somebody enters there is a person. */
export async function startOidcProvider(t: TestContext, redirectUri: string): Promise<string> {
  const server = createServer()
  const { url } = await listen(t, server)
  const oidc = new Provider(url, {
    clients: [
      {
        client_id: 'latchkey',
        client_secret: 'secret-of-the-client',
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['given_name', 'family_name'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, given_name: 'Mia', family_name: 'Muster' }),
    }),
    clientAuthMethods: ['client_secret_basic'],
    cookies: { keys: ['key of the cookies'] },
  })
  oidc.on('server_error', (_, error) => assert.fail(error))
  server.on('request', oidc.callback())
  return url
}

/** Signs in at the pages of the provider, which asks for consent the first time. */
export async function signInAt(page: Page, issuer: string, name: string): Promise<void> {
  await page.waitForURL(`${issuer}/**`)
  await page.locator('[name=login]').fill(name)
  await page.locator('[name=password]').fill('x')
  await page.locator('[type=submit]').click()
  await page.locator('[value=consent]').waitFor({ state: 'attached' })
  await page.locator('[type=submit]').click()
}
