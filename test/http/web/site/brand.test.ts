import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brandColors } from '../../../../src/model/brand.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { temporaryFolder } from '../../../support/databases/databases.ts'
import { visit } from '../../../support/http/pages.ts'

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script>alert(1)</script></svg>'
const { light, dark } = brandColors('#ffd400')

async function start(t: TestContext) {
  const file = join(temporaryFolder(t), 'logo.svg')
  writeFileSync(file, SVG)
  const { app } = await startApp(t, { env: { BRAND_COLOR: '#ffd400', BRAND_LOGO: file, BASE_URL: 'https://example.com/accounts' } })
  return (url: string) => app.inject(visit(url))
}

test('the pages of the site have the colour and the logo of the settings', async (t) => {
  const look = await start(t)
  const { body } = await look('/account/sign-in')
  const [, logo = ''] = /<img class="logo" src="\/accounts(\/assets\/[^"]+\/logo\.svg)" alt="" height="28">/.exec(body) ?? []
  assert.equal((await look(logo)).body, SVG)
  const [, style = ''] = /rel="stylesheet" href="\/accounts([^"]+)"/.exec(body) ?? []
  const css = (await look(style)).body
  assert.ok(css.includes(`:root{--brand:${light.fill};--on-brand:${light.onFill};--accent:${light.text}}`))
  assert.ok(css.includes(`@media (prefers-color-scheme:dark){:root{--brand:${dark.fill};--on-brand:${dark.onFill};--accent:${dark.text}}`))
})

test('so do the start page, the pages of links in mails and error pages, which have the same stylesheet', async (t) => {
  const look = await start(t)
  const stylesheetOf = (body: string) => /rel="stylesheet" href="([^"]+)"/.exec(body)?.[1]
  const expected = stylesheetOf((await look('/account/sign-in')).body)
  for (const url of ['/', '/verify/?code=x', '/reset-password/?code=x', '/nowhere']) {
    const { body, headers } = await look(url)
    assert.equal(stylesheetOf(body), expected, url)
    assert.match(body, /<img class="logo" src="\/accounts\/assets\/[^"]+\/logo\.svg" alt="" height="28">/)
    assert.doesNotMatch(body, /<style|<script|style=/)
    assert.equal(
      headers['content-security-policy'],
      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    )
  }
})

test('a script in a logo does not run: the file is sent with a policy that forbids it', async (t) => {
  const look = await start(t)
  const [, logo = ''] = /src="\/accounts(\/assets\/[^"]+\/logo\.svg)"/.exec((await look('/account/sign-in')).body) ?? []
  const { headers } = await look(logo)
  assert.equal(headers['content-type'], 'image/svg+xml')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.match(String(headers['content-security-policy']), /^default-src 'none'/)
})
