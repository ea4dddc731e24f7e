import assert from 'node:assert/strict'
import { eventually, until } from '../app/eventually.ts'
import { newEmail, PASSWORD } from '../http/requests.ts'
import type { SmtpPeer } from '../servers/smtp-peer.ts'
import { ask, registration, type TimedResponse } from './traffic.ts'

export const NEW_PASSWORD = 'a brand new password'
const MAIL_DEADLINE_MS = 60_000
const ANSWER_DEADLINE_MS = 120_000

type Fields = Record<string, string>
type Request = readonly [method: string, path: string, body?: unknown, headers?: Fields]

export const bearer = (token: string | undefined): Fields => ({ authorization: `Bearer ${token}` })

/**
 * Sends a request until it is answered by something other than 503, which a busy machine may cause, and asserts the status. A request
 * that was sent again may find that the first one had been carried out: then `again` is right too.
 */
export async function expectStatus(url: string, status: number, [method, path, body, headers]: Request, again = status): Promise<Fields> {
  const deadline = performance.now() + ANSWER_DEADLINE_MS
  for (let attempt = 1; ; attempt++) {
    const answer = await ask(url, method, path, body, headers)
    if (isUnavailable(answer) && performance.now() < deadline) continue
    const isExpected = answer.status === status || (attempt > 1 && answer.status === again)
    assert.ok(isExpected, `${url} ${answer.what}: ${answer.status}, expected ${status}: ${JSON.stringify(answer.body)}`)
    return answer.body as Fields
  }
}

export async function registered(url: string): Promise<{ email: string; token: string; refresh: string }> {
  return eventually(
    `a registration at ${url} is answered`,
    async () => {
      const email = newEmail()
      const answer = await ask(url, 'POST', '/register/', registration(email))
      if (isUnavailable(answer)) return undefined
      assert.equal(answer.status, 201, JSON.stringify(answer.body))
      return { email, ...(answer.body as { token: string; refresh: string }) }
    },
    ANSWER_DEADLINE_MS,
  )
}

function isUnavailable({ status }: TimedResponse): boolean {
  return status === 503 || status === 0
}

export async function codeFor(peer: SmtpPeer, email: string, path: string): Promise<string> {
  const find = () => peer.deliveries.findLast(({ to, mail }) => String(to) === email && mail.link.includes(path))?.mail.code
  await until(`a mail with ${path} for ${email}`, () => find() !== undefined, MAIL_DEADLINE_MS)
  return find() ?? ''
}

export async function userId(url: string, email: string, admin: Fields): Promise<string> {
  const found = await expectStatus(url, 200, ['GET', `/users/search?search_term=${email}&field=email`, undefined, admin])
  const [user] = (found as unknown as { items: { id: number }[] }).items
  return String(user?.id ?? assert.fail(`no user has the address ${email}`))
}

/** Everything that an account does, each step at one service and its effect at the other. Ends with the deletion of the account. */
export async function liveBetween(one: string, other: string, peer: SmtpPeer, admin: { email: string; password: string }): Promise<void> {
  const { email, token, refresh } = await registered(one)
  await expectStatus(other, 401, ['POST', '/login/', { email, password: PASSWORD }])
  await expectStatus(other, 200, ['GET', `/verify/?code=${await codeFor(peer, email, '/verify')}`])
  await expectStatus(other, 200, ['GET', '/users/me', undefined, bearer(token)])
  const again = await expectStatus(other, 200, ['POST', '/login/', { email, password: PASSWORD }])
  await expectStatus(one, 200, ['GET', '/users/me', undefined, bearer(again['token'])])
  const refreshed = await expectStatus(other, 200, ['POST', '/refresh/', { refresh }])
  await expectStatus(one, 200, ['GET', '/users/me', undefined, bearer(refreshed['token'])])

  const key = await expectStatus(one, 200, ['POST', '/users/keys', { name: 'robot', scopes: ['read'] }, bearer(token)])
  const withKey = { 'x-api-key': key['key'] ?? '' }
  await expectStatus(other, 200, ['GET', '/users/me', undefined, withKey])
  const listed = await expectStatus(other, 200, ['GET', '/users/keys', undefined, bearer(token)])
  assert.ok(JSON.stringify(listed).includes(`"${key['id']}"`), 'the key is listed')
  await expectStatus(other, 200, ['PATCH', `/users/keys/${key['id']}`, { is_active: false }, bearer(token)])
  await expectStatus(one, 401, ['GET', '/users/me', undefined, withKey])
  await expectStatus(other, 204, ['DELETE', `/users/keys/${key['id']}`, undefined, bearer(token)], 404)

  const boss = await expectStatus(one, 200, ['POST', '/login/', admin])
  const asBoss = bearer(boss['token'])
  const id = await userId(other, email, asBoss)
  const name = `Äda${id}`
  await expectStatus(one, 200, ['PUT', `/users/${id}`, { email, first_name: name, last_name: 'Muster' }, bearer(token)])
  const found = await expectStatus(other, 200, [
    'GET',
    `/users/search?search_term=${encodeURIComponent(name.slice(1))}&field=first_name`,
    undefined,
    asBoss,
  ])
  assert.ok(
    JSON.stringify(found).includes(email),
    `the search finds a name that was changed by the other service: ${JSON.stringify(found)}`,
  )
  assert.ok(JSON.stringify(await expectStatus(other, 200, ['GET', '/users/', undefined, asBoss])).includes(email), 'the user is listed')
  await expectStatus(one, 204, ['POST', `/users/${id}/ban`, undefined, asBoss])
  await expectStatus(other, 401, ['GET', '/users/me', undefined, bearer(token)])
  await expectStatus(one, 204, ['POST', `/users/${id}/unban`, undefined, asBoss])

  await expectStatus(other, 200, ['POST', '/forgot-password/', { email }])
  const code = await codeFor(peer, email, '/reset-password')
  await expectStatus(one, 200, ['POST', '/reset-password/', { code, new_password: NEW_PASSWORD }], 401)
  await expectStatus(other, 401, ['GET', '/users/me', undefined, bearer(token)])
  await expectStatus(other, 400, ['POST', '/login/', { email, password: PASSWORD }])
  const last = await expectStatus(other, 200, ['POST', '/login/', { email, password: NEW_PASSWORD }])
  await expectStatus(one, 204, ['POST', '/logout/', undefined, bearer(last['token'])], 401)
  await expectStatus(other, 401, ['GET', '/users/me', undefined, bearer(last['token'])])
  await expectStatus(other, 204, ['DELETE', `/users/${id}`, undefined, asBoss], 404)
  await expectStatus(one, 400, ['POST', '/login/', { email, password: NEW_PASSWORD }])
}
