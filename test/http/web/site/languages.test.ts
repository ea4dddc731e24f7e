import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import { TEXTS } from '../../../../src/http/web/texts/texts.ts'
import { ALL_LANGUAGES } from '../../../../src/model/language.ts'
import { html, renderHtml } from '../../../../src/shared/html.ts'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { secondApp, startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { credentials, sessionCookie, signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { routesDuring } from '../../../support/http/routes.ts'

const OTHERS = ALL_LANGUAGES.filter((language) => language !== 'en')
const MAX_BYTES = 60_000

/** What is the same in two languages: names, words of more than one language, and values. */
const SAME = new Set(
  'Latchkey Console Actions Active Sessions Code Name Status Limit Passkey Passkeys Version OpenAPI X-API-Key identify English Deutsch Français Español reports:read lightMyRequest'.split(
    ' ',
  ),
)
const VALUE = /^[\W\d_]*$|@|^lk_|^key of a test$|^Version \d/

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
    const known = new Set(textsIn(english))
    for (const language of OTHERS) {
      const page = await app.inject(speaking(language, visit(path, cookie)))
      assert.equal(page.statusCode, english.statusCode, path)
      assert.match(page.body, new RegExp(`<html lang="${language}">`), path)
      assert.equal(page.headers['content-language'], language, path)
      // The messages of spec 4.2 are the same in every language.
      const left = textsIn(page).filter(
        (text) => known.has(text) && !SAME.has(text) && !VALUE.test(text) && text !== 'Reset code is required',
      )
      found.push(...left.map((text) => `${language} ${path} ${text}`))
      assert.ok(page.rawPayload.length < MAX_BYTES, `${path}: ${page.rawPayload.length}`)
    }
  }
  assert.deepEqual(found, [])
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
