import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProvenIdentity } from '../../../../src/model/provider.ts'
import { statement } from '../../../../src/storage/database.ts'
import { admin, member } from '../../../support/app/actors.ts'
import { type StartOptions, startApp, type TestApp } from '../../../support/app/start-app.ts'
import { type ContractContext, temporaryFolder, test } from '../../../support/databases/databases.ts'
import { submit } from '../../../support/http/pages.ts'
import { forgotPassword, newEmail, PASSWORD, register } from '../../../support/http/requests.ts'

const LANGUAGE = statement<{ language: string | null }>('select language from users where email_key = $1')

const storedLanguage = async ({ db }: TestApp, email: string) => (await db.first(LANGUAGE, email.toLowerCase()))?.language

const speaking = (acceptLanguage: string | undefined) => (acceptLanguage === undefined ? {} : { 'accept-language': acceptLanguage })

async function registered(service: TestApp, acceptLanguage: string | undefined): Promise<string> {
  const email = newEmail()
  const request = register({ email })
  const { statusCode } = await service.app.inject({ ...request, headers: { ...request.headers, ...speaking(acceptLanguage) } })
  assert.equal(statusCode, 201)
  return email
}

const identityOf = (email: string, isEmailVerified = true): ProvenIdentity => ({
  provider: 'acme',
  issuer: 'https://acme.example',
  subject: email,
  email,
  isEmailVerified,
  firstName: 'Mia',
  lastName: 'Muster',
})

test('201: a new account has the language of the request, and its mail is written in it', async (t) => {
  const service = await startApp(t)
  for (const [header, language, subject] of [
    ['de-AT,en;q=0.5', 'de', 'Bestätige deine E-Mail-Adresse für Latchkey'],
    ['fr', 'fr', 'Confirmez votre adresse e-mail pour Latchkey'],
    ['it, es;q=0.8', 'es', 'Verifica tu correo electrónico para Latchkey'],
    ['it', 'en', 'Verify your email address for Latchkey'],
    ['*', null, 'Verify your email address for Latchkey'],
    [undefined, null, 'Verify your email address for Latchkey'],
  ] as const) {
    const email = await registered(service, header)
    assert.equal(await storedLanguage(service, email), language)
    const mail = (await service.mailbox.messages()).find(({ to }) => to === email)
    assert.equal(mail?.subject, subject)
    assert.equal(mail?.headers.get('content-language'), language ?? 'en')
  }
})

test('an account of a page, an invitation or a provider has the language of the browser', async (t) => {
  const service = await startApp(t)
  const { app, services, mailbox } = service
  const [byPage, invited, provided, takenOver] = [newEmail(), newEmail(), newEmail(), newEmail()]
  const fields = { email: byPage, password: PASSWORD, first_name: 'Mia', last_name: 'Muster' }
  const page = submit('/account/register', fields)
  await app.inject({ ...page, headers: { ...page.headers, 'accept-language': 'de' } })
  const boss = await admin(service)
  const payload = { email: invited, first_name: 'Ida', last_name: 'Invited' }
  await app.inject({ method: 'POST', url: '/users/invitations', headers: { ...boss.headers, 'accept-language': 'fr' }, payload })
  const form = submit('/account/invitation', { code: await mailbox.codeFor(invited), password: PASSWORD })
  await app.inject({ ...form, headers: { ...form.headers, 'accept-language': 'fr' } })
  const origin = { via: 'http', acceptLanguage: 'es' } as const
  await services.login.api.byProvider(origin, identityOf(provided))
  await app.inject(register({ email: takenOver }))
  await services.login.api.byProvider(origin, identityOf(takenOver))
  const found = await Promise.all([byPage, invited, provided, takenOver].map((email) => storedLanguage(service, email)))
  assert.deepEqual(found, ['de', 'fr', 'es', 'es'])
  const invitation = (await mailbox.messages()).find(({ to }) => to === invited)
  assert.equal(invitation?.subject, 'Your invitation for Latchkey', 'nobody knows the language of an invited person')
})

async function ownAccount(t: ContractContext, options: StartOptions = {}) {
  const service = await startApp(t, options)
  const mia = await member(service)
  const put = (payload: object) => service.app.inject({ method: 'PUT', url: '/users/me', headers: mia.headers, payload })
  const shown = async () => (await service.app.inject({ url: '/users/me?details=true', headers: mia.headers })).json().language
  return { service, mia, put, shown }
}

test('200: the owner changes the language and removes it, and the profile has the same fields as before', async (t) => {
  const { service, mia, put, shown } = await ownAccount(t)
  const profile = { email: mia.email, first_name: 'Mia', last_name: 'Muster' }
  assert.equal(await shown(), undefined)
  const changed = await put({ language: 'fr' })
  assert.deepEqual([changed.statusCode, changed.json(), await shown()], [200, profile, 'fr'])
  assert.deepEqual((await service.app.inject({ url: '/users/me', headers: mia.headers })).json(), profile)
  assert.equal((await put({ first_name: 'Maria' })).statusCode, 200)
  assert.equal(await shown(), 'fr', 'another change leaves it')
  assert.equal((await put({ language: null })).statusCode, 200)
  assert.equal(await shown(), undefined)
})

test('422: a language that LANGUAGES does not name, and the account keeps its own', async (t) => {
  const { put, shown } = await ownAccount(t, { env: { LANGUAGES: 'de,en' } })
  assert.equal((await put({ language: 'en' })).statusCode, 200)
  for (const language of ['fr', 'it', 'DE', '', 7, ['de']]) {
    const response = await put({ language })
    assert.equal(response.statusCode, 422)
    assert.deepEqual(response.json().detail[0].loc, ['body', 'language'])
  }
  assert.equal(await shown(), 'en')
})

test('LANGUAGES narrows registrations and mails, and its first language is for everybody else', async (t) => {
  const service = await startApp(t, { env: { LANGUAGES: 'de,fr' } })
  const email = await registered(service, 'es, en;q=0.9')
  assert.equal(await storedLanguage(service, email), 'de')
  await service.db.run(statement("update users set language = 'es' where email_key = $1"), email)
  await service.app.inject(forgotPassword(email))
  const subjects = (await service.mailbox.messages()).map(({ subject }) => subject)
  assert.deepEqual(subjects.toSorted(), ['Bestätige deine E-Mail-Adresse für Latchkey', 'Setze dein Passwort für Latchkey zurück'])
})

test('a mail that somebody requests is in the language of their browser, unless the account has another one', async (t) => {
  const service = await startApp(t)
  const [without, spanish] = [await registered(service, undefined), await registered(service, 'es')]
  for (const email of [without, spanish]) {
    const request = forgotPassword(email)
    await service.app.inject({ ...request, headers: { ...request.headers, 'accept-language': 'de' } })
    const mail = (await service.mailbox.messages()).findLast(({ to }) => to === email)
    assert.equal(mail?.headers.get('content-language'), email === without ? 'de' : 'es')
  }
  assert.equal(await storedLanguage(service, without), null, 'whoever names an address decides nothing about the account')
})

test('a notice has the language of the account when it was queued, also to an address that is no account any more', async (t) => {
  const { service, mia, put } = await ownAccount(t, { env: { SECURITY_NOTICES: 'true' } })
  await put({ language: 'es' })
  await put({ password: 'a brand new password' })
  await put({ email: newEmail() })
  const mails = (await service.mailbox.messages()).filter(({ to }) => to === mia.email)
  assert.deepEqual(mails.map(({ subject }) => subject).toSorted(), [
    'Se ha cambiado el correo electrónico de tu cuenta de Latchkey',
    'Se ha cambiado tu contraseña de Latchkey',
  ])
})

test('a template in the folder of a language comes first, then the one for every language, then the built-in text', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'de'))
  writeFileSync(join(folder, 'verify.subject.txt'), 'Welcome to {{title}}')
  writeFileSync(join(folder, 'de', 'verify.subject.txt'), 'Willkommen bei {{title}}')
  const service = await startApp(t, { env: { TEMPLATES_DIR: folder } })
  const subjectFor = async (header: string) => {
    const email = await registered(service, header)
    return (await service.mailbox.messages()).find(({ to }) => to === email)
  }
  const [german, french] = [await subjectFor('de'), await subjectFor('fr')]
  assert.deepEqual([german?.subject, french?.subject], ['Willkommen bei Latchkey', 'Welcome to Latchkey'])
  assert.match(german?.text ?? '', /^Hallo Mia,/)
  assert.match(french?.text ?? '', /^Bonjour Mia,/)
})
