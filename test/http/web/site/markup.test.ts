import assert from 'node:assert/strict'
import { test as plainTest } from 'node:test'
import { statement } from '../../../../src/storage/database.ts'
import { enqueueMail } from '../../../../src/storage/repositories/mail/mail.repository.ts'
import { admin, keyHolder } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { FORMS } from '../../../support/http/forms.ts'
import { ORIGIN } from '../../../support/http/origins.ts'
import { credentials, sessionCookie, submit, visit } from '../../../support/http/pages.ts'
import { routesDuring } from '../../../support/http/routes.ts'

/** Markup that would leave an element, an attribute in either kind of quotes, and an element whose content is text. */
const MARKUP = '"><script>alert(1)</script>\'><img src=x onerror=alert(1)></title></textarea><b onclick=alert(1)>'
const ATTRIBUTES = '" onfocus=alert(1) autofocus x="\' onfocus=alert(1) x=\''
const ADDRESS = 'javascript:alert(1)'
const ATTACKS = [MARKUP, ATTRIBUTES, ADDRESS]

const FAIL_MAIL = statement('update outbox set failed_at = $2, attempts = 3, last_error = $3 where recipient = $1')
const ADD_WEBHOOK = statement(`
  insert into webhook_deliveries (message_id, type, user_id, occurred_at, requested_at, due_at, attempts, last_error, failed_at)
  values ($1, $2, $3, $4, $4, $4, 3, $5, $4)`)

/** Everything that a page must not contain: elements and attributes that run code, and addresses of other sites. */
function dangersOf(body: string): string[] {
  // Values are always in double quotes, which are escaped inside them.
  const tags = body.match(/<[a-z!/](?:"[^"]*"|[^">])*>/gi) ?? []
  const names = tags.map((tag) => tag.replace(/"[^"]*"/g, '""'))
  const links = tags.flatMap((tag) => [...tag.matchAll(/\s(?:href|src|action|formaction)="([^"]*)"/g)].map(([, link]) => link ?? ''))
  return [
    ...tags.filter((tag) => /^<script/i.test(tag) && !/^<script defer src="\/assets\/\w+\/site\.js">$/.test(tag)),
    ...tags.filter((tag) => /^<img/i.test(tag) && !/^<img src="\/assets\/\w+\/logo\.svg"/.test(tag)),
    ...names.filter((tag) => /\s(?:on\w+|style|srcdoc)\s*=/i.test(tag) || /^<(?:b|svg on|object|embed|base)\b/i.test(tag)),
    ...links.filter((link) => !/^(?:\/(?!\/)|#|http:\/\/localhost:8000\/)/.test(link)),
  ]
}

plainTest('the check for dangers finds each of the attacks where it is not escaped', () => {
  assert.ok(dangersOf(`<p>${MARKUP}</p>`).length >= 3)
  assert.ok(dangersOf(`<input value="${ATTRIBUTES}">`).length > 0)
  assert.ok(dangersOf(`<a href="${ADDRESS}">x</a>`).length > 0)
  assert.deepEqual(dangersOf('<p title="a &lt;b&gt; &quot; onfocus=alert(1)">x</p>'), [])
})

/** A service in which everything that anybody can store is an attack. */
async function startAttacked(t: Parameters<typeof startApp>[0], attack: string) {
  const { routes, started: service } = await routesDuring(() => startApp(t, { env: { API_TITLE: attack.slice(0, 90) } }))
  const { app, db, clock, services, mailbox } = service
  const boss = await admin(service, { email: "o'brien+x@example.com", firstName: attack, lastName: attack })
  const { keyId } = await keyHolder(service, boss, { name: attack, scopes: [attack.replaceAll(' ', '')] })
  const { headers, ...request } = submit('/account/sign-in', credentials(boss))
  const cookie = sessionCookie(await app.inject({ ...request, headers: { ...headers, 'user-agent': attack } }))
  // For the audit trail, by way of the pages.
  await app.inject(submit('/account/', { first_name: `x${attack}`, last_name: attack }, cookie))
  await services.registration.register(
    { ...ORIGIN, userAgent: attack },
    {
      email: 'mia@example.com',
      password: 'correct horse',
      firstName: attack,
      lastName: attack,
    },
  )
  await mailbox.messages()
  await enqueueMail(db, 'reset', 'bob@example.com', clock.now())
  await db.run(FAIL_MAIL, 'bob@example.com', clock.now(), attack)
  await db.run(ADD_WEBHOOK, 'm1', attack, boss.id, clock.now(), attack)
  const [, kept = ''] = /href="\/console\/mail\/kept\/([^"]+)"/.exec((await app.inject(visit('/console/mail', cookie))).body) ?? []
  const paths = [...routes].filter((name) => /^GET \/(?:console|account)/.test(name)).map((name) => name.slice('GET '.length))
  const urls = paths.map((path) => path.replace(':user_id', String(boss.id)).replace(':key_id', keyId).replace(':mail_id', kept))
  return { ...service, boss, cookie, urls: [...new Set([...urls, '/', '/nowhere', '/verify/?code=x', '/reset-password/?code=x'])] }
}

test('200: attacks in every stored field stay text on every page', async (t) => {
  for (const attack of ATTACKS) {
    const { app, cookie, urls } = await startAttacked(t, attack)
    assert.ok(urls.length > 25)
    let shown = 0
    for (const url of urls) {
      const { statusCode, body } = await app.inject(visit(url, cookie))
      assert.ok(statusCode < 500 && (body !== '' || statusCode === 303), `${url}: ${statusCode}`)
      // The frame of a mail is inert by its policy, and its links are those of the mail.
      if (!url.endsWith('/frame')) assert.deepEqual(dangersOf(body), [], url)
      shown += body.split(attack.slice(0, 6).replaceAll('"', '&quot;').replaceAll('>', '&gt;').replaceAll('<', '&lt;')).length - 1
    }
    assert.ok(shown > urls.length, 'the attacks are on the pages')
  }
})

const PARAMETERS = [
  'q',
  'sort',
  'status',
  'after',
  'before',
  'cursor',
  'next',
  'kind',
  'actor',
  'target',
  'page',
  'kept',
  'sessions',
  'keys',
  'code',
  'to',
  'x',
]

test('200 or 422: attacks in every parameter stay text on every page', async (t) => {
  const { app, cookie, urls } = await startAttacked(t, MARKUP)
  for (const url of urls.filter((name) => !name.includes('?'))) {
    for (const attack of ATTACKS) {
      const responses = await Promise.all(
        PARAMETERS.map((name) => app.inject(visit(`${url}?${new URLSearchParams({ [name]: attack })}`, cookie))),
      )
      for (const { statusCode, body, headers } of responses) {
        assert.ok(statusCode < 500, url)
        if (!url.endsWith('/frame')) assert.deepEqual(dangersOf(body), [], url)
        assert.match(String(headers.location ?? '/'), /^\/(?!\/)/)
      }
    }
  }
})

// An action that asks for the password again has a form too, with any fields.
const ACTION = { '/console/users/1/make-admin': ['x'] } as const

test('200 or 422: attacks in every field of every form stay text in its answer', async (t) => {
  const { app, cookie, clock } = await startAttacked(t, ATTRIBUTES)
  // Actions that need the password again repeat the fields of the form.
  clock.advance({ minutes: 11 })
  for (const [url, names] of Object.entries({ ...FORMS, ...ACTION })) {
    for (const name of names) {
      for (const attack of ATTACKS) {
        // Long enough to be refused where the attack alone would be accepted.
        for (const value of [attack, attack + 'x'.repeat(300)]) {
          const { statusCode, body, headers } = await app.inject(
            submit(url, { email: 'mia@example.com', password: 'wrong', [name]: value }, cookie),
          )
          assert.ok(statusCode < 500, `${url} ${name}: ${statusCode}`)
          assert.deepEqual(dangersOf(body), [], `${url} ${name}`)
          assert.match(String(headers.location ?? '/'), /^\/(?!\/)/)
        }
      }
    }
  }
})
