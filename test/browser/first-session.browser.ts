import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { firstAdminUrl, startProcess, untilPrinted } from '../support/processes/service-process.ts'
import { openBrowser, openPage } from '../support/servers/browser.ts'

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const run = promisify(execFile)

test('the first session of the README works as it is written, in a browser', async (t) => {
  const session = README.split('\n## A first session\n')[1]?.split('\n## ')[0] ?? ''
  const linkTo = (text: string) => new RegExp(`\\[${text}\\]\\(http://localhost:8000([^)]+)\\)`).exec(session)?.[1] ?? assert.fail(text)
  const curl = /^curl .*$/m.exec(session)?.[0] ?? assert.fail('curl')
  const browser = await openBrowser(t)
  const service = await startProcess(t)
  const { page, problems } = await openPage(browser, service.url)
  const fill = (label: string, text: string, where = page) => where.getByLabel(label, { exact: true }).fill(text)
  const press = (name: string, where = page) => where.getByRole('button', { name, exact: true }).click()

  assert.match(session, /Open the link that the terminal shows/)
  await page.goto(firstAdminUrl(service) ?? assert.fail(service.output()))
  await fill('Email', 'admin@example.com')
  await fill('First name', 'Ada')
  await fill('Last name', 'Admin')
  await fill('Password', 'a good password')
  await press('Create admin')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()

  // A context has its own cookies, as a private window has.
  assert.match(session, /in a private window/)
  const { page: own, problems: others } = await openPage(browser, service.url)
  await own.goto(service.url + linkTo('register'))
  await fill('Email', 'mia@example.com', own)
  await fill('First name', 'Mia', own)
  await fill('Last name', 'Muster', own)
  await fill('Password', 'correct horse battery', own)
  await press('Create account', own)
  await untilPrinted(service, /Mail to mia@example.com/)
  await page.getByRole('link', { name: 'Mail', exact: true }).click()
  await page.getByRole('link', { name: 'Verify your email address' }).click()
  const { pathname, search } = new URL((await page.getByRole('link', { name: '/verify/?code=' }).getAttribute('href')) ?? '')
  await own.goto(service.url + pathname + search)
  await own.getByRole('link', { name: 'Sign in' }).click()
  await fill('Email', 'mia@example.com', own)
  await fill('Password', 'correct horse battery', own)
  await press('Sign in', own)
  await own.getByRole('heading', { name: 'Profile' }).waitFor()
  await page.goto(service.url + linkTo('console'))
  await page.getByRole('heading', { name: 'Overview' }).waitFor()

  const access = /with the access `(\w+)`/.exec(session)?.[1] ?? assert.fail('access')
  await own.goto(service.url + linkTo('your API keys'))
  await own.getByRole('link', { name: 'Create API key' }).click()
  await fill('Name', 'Laptop', own)
  const option = own
    .getByLabel('Access', { exact: true })
    .locator('option')
    .filter({ hasText: `${access}:` })
  await own.getByLabel('Access', { exact: true }).selectOption(await option.getAttribute('value'))
  await press('Create API key', own)
  const key = await own.getByLabel('API key', { exact: true }).inputValue()
  const { stdout } = await run('bash', ['-euc', curl.replace('http://localhost:8000', service.url).replace('THE_KEY', key)])
  const { user_id, email } = JSON.parse(stdout)
  assert.deepEqual([user_id, email], [2, 'mia@example.com'])
  assert.deepEqual([...problems, ...others], [])
})
