import type { TestContext } from 'node:test'
import { statement } from '../../../src/storage/database.ts'
import { enqueueMail } from '../../../src/storage/repositories/mail/mail.repository.ts'
import { OPERATOR } from '../http/origins.ts'
import { type Actor, admin, member } from './actors.ts'
import { createClock } from './clock.ts'
import { startApp, type TestApp } from './start-app.ts'

const DAYS = 45
// The steps of all accounts together fill the history, but for the last two days.
const HOURS_PER_STEP = 3.6
// A day in quarters of an hour, and the one in which requests fail.
const QUARTERS = 95
const OUTAGE = 60
const MS_PER_DAY = 24 * 60 * 60_000

const PEOPLE =
  `Ada Admin, Mia Muster, Noor Haddad, Olivier de la Fontaine-Beauregard, Bo Li, Søren Kierkegaard Østergård, Ines Castro, Tomasz Wiśniewski,
Yuki Tanaka, Priya Raghunathan, Jean-Baptiste Lefèvre, Amara Okafor, Lars Holm, Chloé Dubois, Wei Zhang, Fatima Al-Zahra, Diego Ramírez, Hanna Virtanen,
Oisín Murphy, Zeynep Yılmaz, Marek Novák, Lucía Fernández, Kofi Mensah, Anneliese Hohenstein-Wittgenstein, Ravi Patel, Sofia Rossi, Emil Berg, Nadia Petrova,
Theo Müller, Grace Kim, Hugo Silva, Leila Farsi, Sam Carter, Vera Ivanova, Pablo Ortiz, Aiko Mori, Ben Adler, Clara Voss, Dmitri Orlov, Elif Demir,
Finn Larsen, Greta Lind, Hamid Rahimi, Isla Reid, Jonas Weber, Katya Popova, Liam Byrne, Maja Zając`
    .split(',')
    .map((name) => name.trim())

const BROWSERS: readonly string[] = [
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
  'acme-sync/2.4 (nightly export; +https://acme.example.com)',
]

const GIVE_UP = statement('update outbox set failed_at = $2, attempts = 9, last_error = $3 where recipient = $1')
const WAIT = statement('update outbox set due_at = $2, attempts = 2, last_error = $3 where recipient = $1')
const USE_KEY = statement('update api_keys set last_used_at = $2 where id = $1')
const UNVERIFY = statement('update users set verified = false where id = $1')
const ADD_WEBHOOK = statement(`
  insert into webhook_deliveries (message_id, type, user_id, occurred_at, requested_at, due_at, attempts, last_error, failed_at)
  values ($1, $2, $3, $4, $4, $5, $6, $7, $8)`)

export type BusyService = TestApp & { readonly boss: Actor; readonly mia: Actor }

/** A service with a history of some weeks, as an operator sees it: users, sessions, API keys, failed mail and webhooks, events. */
export async function startBusyService(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<BusyService> {
  const service = await startApp(t, { env, clock: createClock(Date.now() - DAYS * MS_PER_DAY) })
  const { services, clock, db, mailbox } = service
  const [boss, mia] = [await admin(service, person(0)), await member(service, person(1))]
  const ids: number[] = []
  for (const [place] of PEOPLE.slice(2).entries()) {
    clock.advance({ hours: ((place * 7) % 13) * HOURS_PER_STEP })
    const role = place === 4 ? 'admin' : 'user'
    ids.push((await services.registration.create(OPERATOR, { ...person(place + 2), role, verified: true })).id)
    if (place % 9 === 5) await services.userAdministration.ban(OPERATOR, ids.at(-1) ?? 0)
    if (place % 6 === 3) await db.run(UNVERIFY, ids.at(-1) ?? 0)
    if (place % 3 === 0 && place % 9 !== 3)
      await services.login.api.byPassword(origin(place), person(place + 2).email, person(0).password).catch(() => undefined)
  }
  await addKeys(service, mia.id)
  await addKeys(service, ids[1] ?? 0)
  await addSessions(service, mia)
  await addSessions(service, boss)
  await addDeliveries(service, ids)
  // Registered by themselves, so that there are mails to read.
  for (const name of ['Nils Nyberg', 'Rosa Pohl']) {
    const [firstName = '', lastName = ''] = name.split(' ')
    const email = `${firstName.toLowerCase()}@example.net`
    await services.registration.register(origin(1), { email, password: boss.password, firstName, lastName })
    await mailbox.messages()
  }
  await addMails(service)
  clock.advance({ ms: Math.max(0, Date.now() - MS_PER_DAY - clock.now()) })
  await addTraffic(service)
  clock.advance({ ms: Math.max(0, Date.now() - clock.now()) })
  return { ...service, boss, mia }
}

function person(place: number) {
  const [firstName = '', ...rest] = (PEOPLE[place] ?? '').split(' ')
  const lastName = rest.join(' ')
  const local = `${firstName}.${lastName}`.normalize('NFD').replace(/[^\w.-]/g, '')
  const domain = place % 5 === 3 ? 'accounting.emea.very-long-company-name.example.com' : 'example.com'
  return { email: `${local.toLowerCase()}@${domain}`, password: 'correct horse battery', firstName, lastName }
}

function origin(place: number) {
  return {
    via: 'http',
    ip: place % 4 === 3 ? `2001:db8:85a3::8a2e:370:${7000 + place}` : `203.0.113.${place}`,
    userAgent: BROWSERS[place % BROWSERS.length],
  } as const
}

async function addKeys({ services, clock, db }: TestApp, userId: number): Promise<void> {
  const add = (name: string, options: object = {}) => services.apiKeys.create(OPERATOR, userId, { name, scopes: [], ...options })
  const [exports] = [await add('Nightly export', { scopes: ['reports:read', 'reports:write'] }), await add('Laptop', { access: 'read' })]
  await add('Billing webhook receiver of the staging environment, eu-central-1', { access: 'identify' })
  const old = await add('CI (old)')
  await services.apiKeys.edit(OPERATOR, userId, old.id, { isActive: false })
  await add('Demo for the trade fair', { expiresAt: clock.now() + 60_000 })
  await add('Grafana', { access: 'read', expiresAt: clock.now() + 90 * MS_PER_DAY })
  await services.apiKeys.rotate(OPERATOR, userId, exports.id, 7 * 86_400)
  await db.run(USE_KEY, exports.id, Date.now() - 4 * 60_000)
}

async function addSessions({ services, clock }: TestApp, { email, password }: Actor): Promise<void> {
  for (const [place] of BROWSERS.entries()) {
    clock.advance({ hours: 5 })
    await services.login.api.byPassword(origin(place + 40), email, password)
  }
  for (let n = 0; n < 3; n++) await services.login.api.byPassword(origin(44), email, 'not the password').catch(() => undefined)
  await services.failedLogins.flush({ isLast: true })
}

async function addDeliveries({ db }: TestApp, ids: readonly number[]): Promise<void> {
  const refused = 'status 503: <html><head><title>503 Service Temporarily Unavailable</title></head></html>'
  const now = Date.now()
  for (const [place, type] of ['user.created', 'user.verified', 'user.banned', 'api_key.created', 'session.created'].entries()) {
    const failedAt = place < 2 ? now - 5 * 60 * 60_000 : null
    const outcome = place < 4 ? [7, refused] : [0, null]
    await db.run(ADD_WEBHOOK, `m${place}`, type, ids[place] ?? 0, now - place * 3_600_000, now + 20 * 60_000, ...outcome, failedAt)
  }
}

async function addMails({ db, mailbox }: TestApp): Promise<void> {
  await mailbox.messages()
  const now = Date.now()
  const failed = [
    'olivier.delafontaine-beauregard@accounting.emea.very-long-company-name.example.com',
    'noor.haddad@example.com',
    'bo.li@example.com',
  ]
  for (const recipient of [...failed, 'ines.castro@example.com', 'yuki.tanaka@example.com']) await enqueueMail(db, 'reset', recipient, now)
  const rejection = '550 5.1.1 <mailbox>: Recipient address rejected: User unknown in virtual mailbox table'
  for (const recipient of failed) await db.run(GIVE_UP, recipient, now - 3 * 60 * 60_000, rejection)
  await db.run(WAIT, 'ines.castro@example.com', now + 12 * 60_000, 'connect ECONNREFUSED 10.0.3.7:587')
}

/** A day of requests: more of them at noon than at night, some refused, and an outage. */
async function addTraffic({ activity, clock }: TestApp): Promise<void> {
  for (let quarter = 0; quarter < QUARTERS; quarter++) {
    const count = Math.round(30 + 25 * Math.sin((quarter / QUARTERS) * 2 * Math.PI) + ((quarter * 7) % 11))
    for (let n = 0; n < count; n++) addRequest(activity, n, quarter === OUTAGE && n % 3 === 0)
    await activity.flush()
    clock.advance({ minutes: 15 })
  }
}

function addRequest(activity: TestApp['activity'], n: number, isFailed: boolean): void {
  const status = n % 17 === 3 ? 401 : 200
  activity.countRequest(isFailed ? 503 : status, isFailed ? 900 : 2 + ((n * 13) % 40))
  if (n % 5 === 0) activity.countLogin(n % 15 !== 0)
}
