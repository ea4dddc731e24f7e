import assert from 'node:assert/strict'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { TEXTS as MAIL_TEXTS } from '../../../../src/delivery/mail/layout.ts'
import type { Limit, LimitUnit } from '../../../../src/domain/values/plans.ts'
import { TEXTS } from '../../../../src/http/web/texts/texts.ts'
import { ALL_LANGUAGES, type Language } from '../../../../src/model/language.ts'
import { html, renderHtml } from '../../../../src/shared/html.ts'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { beginSignIn, WITH_PRODUCT } from '../../../support/app/hand-off.ts'
import { createBrowser, leadsTo } from '../../../support/app/provider-browser.ts'
import { addPasskey, turnOn } from '../../../support/app/second-factor.ts'
import { secondApp, startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { credentials, sessionCookie, signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { PASSWORD } from '../../../support/http/requests.ts'
import { routesDuring } from '../../../support/http/routes.ts'
import { startIdentityProvider } from '../../../support/servers/identity-provider.ts'

const OTHERS = ALL_LANGUAGES.filter((language) => language !== 'en')
const MAX_BYTES = 60_000

/** What is the same in two languages: names, words of more than one language, and values. */
const SAME = new Set(
  'Latchkey Console Actions Active Sessions Code Name Status Limit Passkey Passkeys Version OpenAPI X-API-Key identify Acme English Deutsch Français Español reports:read lightMyRequest'.split(
    ' ',
  ),
)
const VALUE = /^[\W\d_]*$|@|^lk_|^key of a test$|^My phone$|^app\.example\.com$|^(?:AAAA ?)+$|^Version \d/

function speaking(language: string, request: InjectOptions): InjectOptions {
  return { ...request, headers: { ...request.headers, 'accept-language': language } }
}

/** The texts of a page: between its tags, and in attributes that are shown or read out. */
function textsIn({ body }: { readonly body: string }): string[] {
  const content = body.replace(/<script[\s\S]*?<\/script>|<time[\s\S]*?<\/time>/g, '')
  const between = [...content.matchAll(/>([^<]+)</g)].map(([, text = '']) => text)
  const attributes = [...content.matchAll(/ (?:aria-label|data-label)="([^"]+)"/g)].map(([, text = '']) => text)
  return [...between, ...attributes].map((text) => text.replace(' · Latchkey', '').trim()).filter((text) => text !== '')
}

/** The English texts that a page in another language has left. */
function restsOf(page: LightMyRequestResponse, english: LightMyRequestResponse): string[] {
  const known = new Set(textsIn(english))
  // The messages of spec 4.2 are the same in every language.
  return textsIn(page).filter((text) => known.has(text) && !SAME.has(text) && !VALUE.test(text) && text !== 'Reset code is required')
}

test('200: no account page has an English text in another language, and each stays small', async (t) => {
  const env = { SELF_DELETION: 'true', EMAIL_SIGN_IN: 'true', KEY_SCOPES: 'reports:read', PLANS: 'free=60/m,1000/d', DEFAULT_PLAN: 'free' }
  const { routes, started: service } = await routesDuring(() => startApp(t, { env }))
  const { app } = service
  const mia = await member(service, { firstName: 'Mia' })
  const { keyId } = await keyHolder(service, mia)
  const cookie = await signIn(app, mia)
  const listed = [...routes].filter((name) => /^GET \/account[^:]*$/.test(name)).map((name) => name.slice('GET '.length))
  const paths = [
    ...listed,
    '/',
    '/nowhere',
    '/reset-password/',
    '/verify/?code=x',
    '/confirm-email/?code=x',
    `/account/keys/${keyId}`,
    '/account/keys/x',
  ]
  assert.ok(paths.length > 15, paths.join())
  const found: string[] = []
  for (const path of paths) {
    const english = await app.inject(speaking('en', visit(path, cookie)))
    if (english.statusCode === 303) continue
    for (const language of OTHERS) {
      const page = await app.inject(speaking(language, visit(path, cookie)))
      assert.equal(page.statusCode, english.statusCode, path)
      assert.match(page.body, new RegExp(`<html lang="${language}">`), path)
      assert.equal(page.headers['content-language'], language, path)
      found.push(...restsOf(page, english).map((text) => `${language} ${path} ${text}`))
      assert.ok(page.rawPayload.length < MAX_BYTES, `${path}: ${page.rawPayload.length}`)
    }
  }
  assert.deepEqual(found, [])
})

test('200: nor has a page behind a form, a second factor, a passkey, a provider, an invitation or a product', async (t) => {
  const provider = await startIdentityProvider(t)
  const env = { EMAIL_SIGN_IN: 'true', SIGN_IN_PROVIDERS: 'acme', ...provider.env('acme'), ...WITH_PRODUCT }
  const service = await startApp(t, { env })
  const { app, clock, mailbox } = service
  const eve = await member(service)
  const stale = await signIn(app, eve)
  clock.advance({ minutes: 11 })
  const [mia, boss] = [await member(service), await admin(service)]
  const [cookie, fresh] = [await signIn(app, mia), await signIn(app, eve)]
  const { id: passkeyId } = await addPasskey(service, mia)
  await turnOn(service, mia)
  const invited = { email: 'ida@example.com', first_name: 'Ida', last_name: 'Invited' }
  await app.inject({ method: 'POST', url: '/users/invitations', headers: boss.headers, payload: invited })
  const invitation = await mailbox.codeFor(invited.email)
  /** The cookies of a browser in which somebody has signed in at the provider. */
  const afterProvider = async (email: string): Promise<string> => {
    const browser = createBrowser(service)
    const begun = leadsTo(await browser.open('/login/with/acme'))
    await browser.open(provider.authorize(begun, { sub: email, email, email_verified: true, name: 'Ben Example' }))
    return [...browser.jar].map(([name, value]) => `${name}=${value}`).join('; ')
  }
  const [existing, withoutPassword] = [await afterProvider(eve.email), await afterProvider('ben@example.com')]
  const newCodes = async () => {
    const { headers } = await app.inject(submit('/account/security/recovery-codes', {}, cookie))
    const [secret] = [headers['set-cookie'] ?? []].flat()
    return visit('/account/security/recovery-codes', `${cookie}; ${secret?.split(';')[0]}`)
  }
  const requests: Readonly<Record<string, InjectOptions | (() => Promise<InjectOptions>)>> = {
    'second step': submit('/account/sign-in', credentials(mia)),
    security: visit('/account/security', cookie),
    'a passkey': visit(`/account/security/passkeys/${passkeyId}`, cookie),
    'new codes': submit('/account/security/codes', {}, fresh),
    'a wrong code': submit('/account/security/codes/on', { secret: 'A'.repeat(32), code: '000000' }, fresh),
    'recovery codes': newCodes,
    'a question': submit('/account/security/codes', {}, stale),
    'sign-in by mail': submit('/account/sign-in/email', { email: eve.email }),
    'a forgotten password': submit('/account/forgot-password', { email: eve.email }),
    'an incomplete registration': submit('/account/register', { email: 'x', password: 'short', first_name: '', last_name: '' }),
    'a form of another site': { ...submit('/account/password', {}, cookie), headers: { cookie, 'sec-fetch-site': 'cross-site' } },
    'an account that exists': visit('/account/connect', existing),
    'a connection': visit('/account/connect/confirm', `${existing}; ${fresh}`),
    'a connection of another account': visit('/account/connect/confirm', `${existing}; ${cookie}`),
    'an account without a password': visit('/account/password', withoutPassword),
    'its security': visit('/account/security', withoutPassword),
    'an unknown provider': visit('/login/with/nobody'),
    'a cancelled sign-in': visit('/login/with/acme/callback?error=access_denied'),
    'an invitation': visit(`/account/invitation?code=${invitation}`),
    'a short password': submit('/account/invitation', { code: invitation, password: 'short' }),
    'a used invitation': visit('/account/invitation?code=x'),
    'a product': visit(`/account/sign-in?${beginSignIn().query}`),
    'a wrong link of a product': visit('/account/sign-in?return_to=https%3A%2F%2Fevil.example%2F'),
  }
  const found: string[] = []
  for (const [name, request] of Object.entries(requests)) {
    const open = async (language: Language) => app.inject(speaking(language, typeof request === 'function' ? await request() : request))
    const english = await open('en')
    assert.match(english.body, /<html lang="en">/, name)
    assert.notEqual(english.statusCode, 500, name)
    for (const language of OTHERS) {
      const page = await open(language)
      assert.equal(page.statusCode, english.statusCode, name)
      assert.match(page.body, new RegExp(`<html lang="${language}">`), name)
      found.push(...restsOf(page, english).map((text) => `${language} ${name}: ${text}`))
      assert.ok(page.rawPayload.length < MAX_BYTES, name)
      assert.ok(!page.body.includes(PASSWORD), name)
    }
  }
  assert.deepEqual(found, [])
})

/** Every text of the pages and the mails of a language. A function is called with values that stand for others. */
function textsOf(language: Language): string[] {
  const link = (text: string) => html`${text}`
  const value = Object.assign((text: string) => link(text), { explorer: link, reference: link, document: link, toString: () => '2' })
  const collect = (entry: unknown): string[] => {
    if (typeof entry === 'string') return [entry]
    if (typeof entry === 'function') return collect(entry(value, value, value))
    if (typeof entry !== 'object' || entry === null) return []
    return Object.getOwnPropertySymbols(entry).length > 0
      ? [renderHtml(entry as Parameters<typeof renderHtml>[0])]
      : Object.values(entry).flatMap(collect)
  }
  const [{ format: _, ...pages }, { duration: __, time: ___, ...mails }] = [TEXTS[language], MAIL_TEXTS[language]]
  return [...collect(pages), ...collect(mails)]
}

test('each language keeps its punctuation, and calls a thing by one name in pages and mails', async () => {
  for (const text of textsOf('fr')) assert.doesNotMatch(text.replace(/https?:|&[#\w]+;/g, ''), /[^\u00a0]:|[^\u202f][;?!]|'/, text)
  for (const text of textsOf('es')) {
    assert.equal(text.match(/¿/g)?.length, text.match(/\?/g)?.length, text)
    assert.equal(text.match(/¡/g)?.length, text.match(/!/g)?.length, text)
  }
  const othersNames: Readonly<Record<Language, RegExp>> = {
    en: /\blog(?:ged)? (?:in|out)\b|passcode|backup code/i,
    de: /[a-zäöü,] (?:Sie|Ihr\w*)\b|Kennwort|Account|Session|Backup-Code|Ersatzcode/,
    fr: /(?<!\p{L})(?:tu|ton|ta|tes)(?!\p{L})|récupération|code de sauvegarde|passkey|courriel|relié/iu,
    es: /\busted\b|código de respaldo|passkey|clave de acceso|conectad|e-mail/i,
  }
  for (const language of ALL_LANGUAGES) for (const text of textsOf(language)) assert.doesNotMatch(text, othersNames[language], language)
})

test('limits are joined as each language joins a list', async () => {
  const limit = (count: number, unit: LimitUnit): Limit => ({ count, unit, text: '', periodMs: 0 })
  const limits = [limit(1, 's'), limit(60, 'm'), limit(10_000, 'd')] as const
  const texts = ALL_LANGUAGES.map((language) => TEXTS[language].format.limitsText(limits).replaceAll('\u202f', ' '))
  assert.deepEqual(texts, [
    '1 request a second, 60 a minute and 10,000 a day',
    '1 Anfrage pro Sekunde, 60 pro Minute und 10.000 pro Tag',
    '1 requête par seconde, 60 par minute et 10 000 par jour',
    '1 petición por segundo, 60 por minuto y 10.000 por día',
  ])
})

test('each entry of a catalogue uses the same values in every language', async () => {
  /** Stands for every kind of value: a text, a number, HTML, a function that makes a link, or several of them. */
  const value = (place: number): unknown => {
    const link = () => html`§${place}`
    return Object.assign(() => html`§${place}`, { explorer: link, reference: link, document: link, toString: () => `§${place}` })
  }
  const values = [value(1), value(2), value(3)]
  const usedBy = (entry: unknown): string => {
    if (typeof entry !== 'function') return ''
    const result: unknown = entry(...values)
    const text = typeof result === 'string' ? result : renderHtml(result as Parameters<typeof renderHtml>[0])
    return [...new Set(text.match(/§\d/g))].sort().join()
  }
  const compare = (entry: unknown, other: unknown, name: string): void => {
    // Its message is in English, so that no other language shows it.
    if (name.endsWith('.errors.other')) return
    if (typeof entry === 'function') assert.equal(usedBy(other), usedBy(entry), name)
    else if (typeof entry === 'object' && entry !== null)
      for (const [key, part] of Object.entries(entry)) compare(part, (other as Record<string, unknown>)[key], `${name}.${key}`)
    else assert.ok(typeof other === typeof entry && other !== '', name)
  }
  for (const language of OTHERS) {
    const { format: _, ...english } = TEXTS.en
    compare(english, TEXTS[language], language)
  }
})

test('200: Accept-Language chooses the language, and an unknown one is answered in English', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const languageOf = async (header: string, path = '/account/sign-in') => {
    const { headers, body } = await app.inject(speaking(header, visit(path)))
    assert.equal(headers['content-language'], /<html lang="(\w+)">/.exec(body)?.[1])
    return { language: headers['content-language'], vary: String(headers['vary'] ?? '') }
  }
  for (const [header, expected] of [
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['it,fr;q=0.7', 'fr'],
    ['es-MX', 'es'],
    ['ja', 'en'],
    ['', 'en'],
  ] as const) {
    const { language, vary } = await languageOf(header)
    assert.equal(language, expected, header)
    assert.match(vary, /Accept-Language/)
  }
  const cookie = await signIn(app, await admin(service))
  const overview = await app.inject(speaking('de', visit('/console/', cookie)))
  assert.equal(overview.headers['content-language'], 'en')
  assert.doesNotMatch(String(overview.headers['vary']), /Accept-Language/)
  assert.match(overview.body, /<html lang="en">/)
})

test('400, 422, 303: a refused form and the notice after a change are in the language of the reader', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const mia = await member(service)
  const wrong = await app.inject(speaking('de', submit('/account/sign-in', { ...credentials(mia), password: 'wrong password' })))
  assert.equal(wrong.statusCode, 400)
  assert.match(textOf(wrong), /E-Mail-Adresse oder Passwort ist falsch\./)
  const cookie = await signIn(app, mia)
  const passwords = { current_password: mia.password, new_password: 'short', confirm_password: '' }
  const invalid = await app.inject(speaking('fr', submit('/account/password', passwords, cookie)))
  assert.equal(invalid.statusCode, 422)
  assert.match(textOf(invalid), /Nouveau mot de passe : au moins 8 caractères sont nécessaires/)
  const differing = { ...passwords, new_password: 'long enough', confirm_password: 'another one' }
  assert.match(textOf(await app.inject(speaking('es', submit('/account/password', differing, cookie)))), /Las dos contraseñas no coinciden/)
  const saved = await app.inject(speaking('de', submit('/account/', { first_name: 'Mia', last_name: 'Moss' }, cookie)))
  const notice = [saved.headers['set-cookie'] ?? []].flat().join().split(';')[0]
  assert.match(textOf(await app.inject(speaking('de', visit('/account/', `${cookie}; ${notice}`)))), /Dein Name wurde gespeichert\./)
})

test('200: the language of the account comes before that of the browser, and its owner chooses it on the profile page', async (t) => {
  const service = await startApp(t, { env: { LANGUAGES: 'en,de' } })
  const { app } = service
  const cookie = sessionCookie(await app.inject(submit('/account/sign-in', credentials(await member(service)))))
  const profile = () => app.inject(speaking('en', visit('/account/', cookie)))
  assert.match((await profile()).body, /<option value="en" selected>English<\/option>\s*<option value="de">Deutsch<\/option>/)
  assert.equal((await app.inject(submit('/account/language', { language: 'de' }, cookie))).statusCode, 303)
  assert.match((await profile()).body, /<html lang="de">[\s\S]*<option value="de" selected>Deutsch<\/option>/)
  assert.equal((await app.inject(submit('/account/language', { language: 'fr' }, cookie))).statusCode, 422)
  assert.equal((await profile()).headers['content-language'], 'de')
  const alone = await secondApp(t, { config: { ...service.config, languages: ['en'] }, clock: service.clock })
  const page = await alone.inject(speaking('de', visit('/account/', cookie)))
  assert.match(page.body, /<html lang="en">/)
  assert.doesNotMatch(page.body, /name="language"/)
})
