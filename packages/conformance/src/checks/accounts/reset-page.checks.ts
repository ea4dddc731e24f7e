import { check, mailCheck, NotApplicable } from '../../check.ts'
import type { Answer } from '../../client.ts'
import type { Context } from '../../context.ts'
import { expectEqual, expectStatus, expectThat, expectType } from '../../expect.ts'
import { shapedText, TOKEN_MAX_LENGTH } from '../../tokens.ts'

const PASSWORD_FIELD = /<input\b[^>]*\bname\s*=\s*["']?new_password\b/i

const open = ({ call }: Context, code?: string) => call('GET', '/reset-password/', code === undefined ? {} : { query: { code } })

/** A page without a form, with a text. With FRONTEND_URL, the page of the frontend shows it. */
function expectErrorPage(answer: Answer, text?: string): void {
  if (answer.status === 302) return void expectRedirect(answer)
  expectStatus(answer, 200)
  expectType(answer, 'text/html')
  expectThat(!PASSWORD_FIELD.test(answer.text), 'a page without a password form', 'a page with one', answer)
  if (text !== undefined) expectThat(plain(answer.text).includes(text), `a page that says "${text}"`, 'another page', answer)
}

function expectRedirect(answer: Answer, code?: string): void {
  const place = new URL(answer.headers.get('location') ?? '/', 'http://nowhere.invalid')
  expectThat(
    place.pathname.endsWith('/reset-password'),
    'Location: {FRONTEND_URL}/reset-password?code=…',
    `Location: ${place.pathname}`,
    answer,
  )
  if (code !== undefined) expectEqual('the code in Location', place.searchParams.get('code'), code, answer)
}

function plain(html: string): string {
  return html
    .replace(/<(style|script)\b[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
}

export const RESET_PAGE_CHECKS = [
  mailCheck(
    'reset-page.valid',
    '4.2',
    'a valid code shows a form with the field new_password, or leads to {FRONTEND_URL}/reset-password?code=…',
    async (context) => {
      const code = await context.resetCode((await context.member()).email)
      const answer = await open(context, code)
      if (answer.status === 302) return expectRedirect(answer, code)
      expectStatus(answer, 200)
      expectType(answer, 'text/html')
      expectThat(PASSWORD_FIELD.test(answer.text), 'a form with the field new_password', 'a page without', answer)
    },
  ),
  mailCheck('reset-page.form-target', '4.2', 'the form submits to POST /reset-password/', async (context) => {
    const answer = await open(context, await context.resetCode((await context.member()).email))
    if (answer.status === 302) throw new NotApplicable('FRONTEND_URL is set')
    const [form = ''] = /<form\b[^>]*>/i.exec(answer.text) ?? []
    const action = /\baction\s*=\s*["']?([^"'\s>]*)/i.exec(form)?.[1] ?? ''
    const { pathname } = new URL(action, 'http://nowhere.invalid/reset-password/')
    expectThat(
      /\bmethod\s*=\s*["']?post\b/i.test(form) && /\/reset-password\/?$/.test(pathname),
      'a form that posts to /reset-password/',
      form || 'no form',
      answer,
    )
  }),
  mailCheck('reset-page.keeps-code', '4.2', 'opening the page does not use up the code', async (context) => {
    const code = await context.resetCode((await context.member()).email)
    await open(context, code)
    expectStatus(await context.call('POST', '/reset-password/', { json: { code, new_password: context.password() } }), 200)
  }),
  check('reset-page.missing', '4.2', 'without a code the page says "Reset code is required"', async (context) => {
    expectErrorPage(await open(context), 'Reset code is required')
  }),
  check('reset-page.empty', '4.2', 'an empty code shows an error', async (context) => {
    expectErrorPage(await open(context, ''))
  }),
  check('reset-page.malformed', '4.2', 'a code without JWT shape shows "That token is Invalid"', async (context) => {
    expectErrorPage(await open(context, 'abc'), 'That token is Invalid')
  }),
  check('reset-page.forged', '4.2', 'a code with a wrong signature shows "That token is Invalid"', async (context) => {
    expectErrorPage(await open(context, shapedText(200)), 'That token is Invalid')
  }),
  check('reset-page.too-long', '4.2', 'a code of 1025 characters shows an error', async (context) => {
    expectErrorPage(await open(context, shapedText(TOKEN_MAX_LENGTH + 1)))
  }),
  check('reset-page.refresh-token', '4.2', 'a refresh token shows "That token is Invalid"', async (context) => {
    expectErrorPage(await open(context, (await context.shared.newcomer()).refresh), 'That token is Invalid')
  }),
  mailCheck('reset-page.verify-token', '4.2', 'a verify token shows "That token is Invalid"', async (context) => {
    expectErrorPage(await open(context, await context.code((await context.register()).email)), 'That token is Invalid')
  }),
  mailCheck('reset-page.banned', '4.2', 'the code of a banned user shows "That token is Invalid"', async (context) => {
    const { id, email } = await context.member()
    const code = await context.resetCode(email)
    await context.call('POST', `/users/${id}/ban`, { as: context.operator })
    expectErrorPage(await open(context, code), 'That token is Invalid')
  }),
  check('reset-page.own-domain', '4.2', 'nothing in the request leads to another domain', async ({ call }) => {
    const foreign = 'conformance.invalid'
    const query = { code: `https://${foreign}/`, url: `https://${foreign}/`, next: `//${foreign}`, redirect: `https://${foreign}/` }
    const answer = await call('GET', '/reset-password/', { query, headers: { 'x-forwarded-host': foreign } })
    const place = answer.headers.get('location')
    const host = place === null ? '' : new URL(place, 'http://nowhere.invalid').hostname
    expectThat(host !== foreign, 'no redirect to a host that the request names', `Location: ${place}`, answer)
  }),
  check('reset-page.escaped', '4.2', 'the page shows nothing of the code as HTML', async (context) => {
    const answer = await open(context, '"><script>alert(1)</script>')
    expectThat(!answer.text.includes('<script>alert(1)'), 'a page without the code', 'a page that contains it as HTML', answer)
  }),
]
