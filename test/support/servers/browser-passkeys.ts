import type { CDPSession, Page } from 'playwright-core'

/** An authenticator that keeps passkeys and knows who holds it. It answers at once. */
export async function plugIn(page: Page): Promise<{ session: CDPSession; authenticatorId: string }> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = (await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })) as { authenticatorId: string }
  return { session, authenticatorId }
}

/** Adds a passkey on the pages of somebody who is signed in. */
export async function addPasskey(page: Page, url: string, name: string): Promise<void> {
  await page.goto(`${url}/account/security`)
  await page.getByRole('link', { name: 'Add a passkey' }).click()
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Create passkey' }).click()
  const added = page.getByText('The passkey has been added.')
  const problem = page.getByRole('alert')
  await added.or(problem).first().waitFor()
  if (!(await added.isVisible())) throw new Error(`the passkey was not added: ${await page.locator('main').innerText()}`)
}

/** The authenticator of these tests chooses for the person, so that the email field would sign in before the button is pressed. */
export const withoutAutofill = (page: Page) => page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')
