import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startProcess, untilPrinted } from '../support/processes/service-process.ts'
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
  const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()

  const line = await untilPrinted(service, /code +\S+ at http/)
  await page.goto(service.url + linkTo('console'))
  await page.getByRole('link', { name: 'Create the first admin' }).click()
  await fill('One-time code', line.split(/ +/)[1] ?? '')
  await fill('Email', 'admin@example.com')
  await fill('First name', 'Ada')
  await fill('Last name', 'Admin')
  await fill('Password', 'a good password')
  await press('Create admin')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()

  await page.goto(service.url + linkTo('your API keys'))
  await page.getByRole('link', { name: 'Create API key' }).click()
  await fill('Name', 'Laptop')
  await press('Create API key')
  const key = await page.getByLabel('API key', { exact: true }).inputValue()
  const { stdout } = await run('bash', ['-euc', curl.replace('http://localhost:8000', service.url).replace('THE_KEY', key)])
  assert.equal(stdout, '{"email":"admin@example.com","first_name":"Ada","last_name":"Admin"}')
  assert.deepEqual(problems, [])
})
