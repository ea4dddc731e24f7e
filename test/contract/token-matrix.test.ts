import assert from 'node:assert/strict'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { TokenKind } from '../../src/security/token.ts'
import { findUserById } from '../../src/storage/repositories/users/user.repository.ts'
import { type Actor, admin, emailChangeCode, keyHolder, member } from '../support/app/actors.ts'
import { refused } from '../support/app/assertions.ts'
import { invitationToken, signInToken } from '../support/app/mailed-links.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'
import { forge, payloadOf, unsigned } from '../support/http/forged-tokens.ts'
import { submit } from '../support/http/pages.ts'
import { confirmEmail, logout, PASSWORD, refresh, resetPassword, verify } from '../support/http/requests.ts'
import { EVERY_ROUTE } from '../support/http/routes.ts'
import { issueToken } from '../support/servers/offline-verifier.ts'

/** One endpoint for each kind of token. */
const ENDPOINTS: Record<TokenKind, (token: string) => InjectOptions> = {
  access: (token) => logout({ authorization: `Bearer ${token}` }),
  refresh,
  page: (token) => submit('/account/sign-out', {}, `latchkey=${token}`),
  verify,
  reset: (code) => resetPassword({ code }),
  email_change: confirmEmail,
  sign_in: (token) => ({ method: 'POST', url: '/login/email/confirm', payload: { token } }),
  invitation: (code) => submit('/account/invitation', { code, password: PASSWORD }),
}
const KINDS = Object.keys(ENDPOINTS) as TokenKind[]
const SUCCESS: Record<TokenKind, number> = {
  access: 204,
  refresh: 200,
  page: 303,
  verify: 200,
  reset: 200,
  email_change: 200,
  sign_in: 200,
  invitation: 303,
}

/** A page is refused with a page. */
function refusedAt(endpoint: TokenKind, response: LightMyRequestResponse, detail: string): void {
  if (endpoint === 'page') {
    assert.equal(response.statusCode, 401)
    assert.match(response.body, /Your session has ended, so nothing was changed/)
  } else if (endpoint === 'invitation') {
    // Over the maximum length, the form is invalid.
    assert.match(String(response.statusCode), /^4(?:04|22)$/)
    assert.match(response.body, /This invitation is no longer open/)
  } else {
    refused(response, 401, endpoint === 'sign_in' ? 'Invalid code' : detail)
  }
}

/** Creates an account whose token of this kind works. */
async function holder(service: TestApp, kind: TokenKind): Promise<{ actor: Actor; token: string; all: Record<TokenKind, string> }> {
  const actor = await member(service, { verified: kind !== 'verify' })
  const { tokens } = service.services
  const all: Record<TokenKind, string> = {
    access: actor.token,
    refresh: actor.refresh,
    page: tokens.forSession('page', actor.id, String(payloadOf(actor.token)['sid'])),
    verify: tokens.forMail('verify', actor.id, actor.emailVersion),
    reset: tokens.forMail('reset', actor.id, actor.resetVersion),
    email_change: await emailChangeCode(service, actor),
    sign_in: await signInToken(service, actor),
    invitation: (await invitationToken(service)).token,
  }
  return { actor, token: all[kind], all }
}

test('401: each endpoint accepts one kind of token and refuses all others', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  for (const endpoint of KINDS) {
    for (const kind of KINDS) {
      const { all } = await holder(service, endpoint)
      const response = await service.app.inject(ENDPOINTS[endpoint](all[kind]))
      if (kind === endpoint) assert.equal(response.statusCode, SUCCESS[endpoint], `${kind} at ${endpoint}`)
      else refusedAt(endpoint, response, 'That token is Invalid')
    }
  }
})

const OTHER_SECRET = 'another secret that is long enough'

type Forgery = (token: string) => string
const resign =
  (change: (payload: Record<string, unknown>) => object): Forgery =>
  (token) =>
    forge({ payload: change(payloadOf(token)) })
const withHeader =
  (header: object, hash = 'sha256'): Forgery =>
  (token) =>
    forge({ header, payload: payloadOf(token), hash })

/** Ways to make an invalid token from a valid one. */
const FORGERIES: Record<string, Forgery> = {
  'no characters': () => '',
  'two parts': (token) => token.split('.').slice(0, 2).join('.'),
  'four parts': (token) => `${token}.x`,
  'an empty signature': (token) => `${token.split('.').slice(0, 2).join('.')}.`,
  'characters outside base64url': (token) => token.replace('.', '.+/='),
  'a space in it': (token) => `${token.slice(0, 20)} ${token.slice(20)}`,
  'over 1024 characters': resign((payload) => ({ ...payload, padding: 'x'.repeat(800) })),
  'a changed payload': (token) =>
    token.replace(/\.[^.]+\./, `.${Buffer.from(JSON.stringify({ ...payloadOf(token), sub: '4711' })).toString('base64url')}.`),
  'a changed signature': (token) => `${token.slice(0, -4)}${token.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`,
  'another secret': (token) => forge({ payload: payloadOf(token), secret: OTHER_SECRET }),
  'alg none': (token) => unsigned(payloadOf(token)),
  'alg None with a signature': withHeader({ alg: 'None', typ: 'JWT' }),
  'alg HS384': withHeader({ alg: 'HS384', typ: 'JWT' }, 'sha384'),
  'alg HS512': withHeader({ alg: 'HS512', typ: 'JWT' }, 'sha512'),
  'alg RS256 signed with HMAC': withHeader({ alg: 'RS256', typ: 'JWT' }),
  'alg missing': withHeader({ typ: 'JWT' }),
  'a critical extension': withHeader({ alg: 'HS256', typ: 'JWT', crit: ['x'], x: 1 }),
  'a critical extension that is null': withHeader({ alg: 'HS256', typ: 'JWT', crit: null }),
  'its own key in the header': (token) =>
    forge({
      header: { alg: 'HS256', typ: 'JWT', jwk: { kty: 'oct', k: Buffer.from(OTHER_SECRET).toString('base64url') } },
      payload: payloadOf(token),
      secret: OTHER_SECRET,
    }),
  'a key id that is a path, signed with nothing': (token) =>
    forge({ header: { alg: 'HS256', typ: 'JWT', kid: '../../../dev/null' }, payload: payloadOf(token), secret: '' }),
  'a key id that is SQL': (token) =>
    forge({ header: { alg: 'HS256', typ: 'JWT', kid: "x' union select 'x" }, payload: payloadOf(token), secret: 'x' }),
  'a URL of keys in the header': (token) =>
    forge({
      header: { alg: 'HS256', typ: 'JWT', jku: 'https://evil.example/keys', x5u: 'https://evil.example/cert' },
      payload: payloadOf(token),
      secret: OTHER_SECRET,
    }),
  'exp missing': resign(({ exp: _, ...payload }) => payload),
  'exp as text': resign((payload) => ({ ...payload, exp: String(payload['exp']) })),
  'exp null': resign((payload) => ({ ...payload, exp: null })),
  'sub missing': resign(({ sub: _, ...payload }) => payload),
  'sub true': resign((payload) => ({ ...payload, sub: true })),
  'sub a float': resign((payload) => ({ ...payload, sub: Number(payload['sub']) + 0.5 })),
  'sub negative': resign((payload) => ({ ...payload, sub: `-${payload['sub']}` })),
  'sub zero': resign((payload) => ({ ...payload, sub: 0 })),
  'sub empty': resign((payload) => ({ ...payload, sub: '' })),
  'sub an object': resign((payload) => ({ ...payload, sub: { id: payload['sub'] } })),
  'sub with a space': resign((payload) => ({ ...payload, sub: ` ${payload['sub']}` })),
  'sub in exponents': resign((payload) => ({ ...payload, sub: `${payload['sub']}e0` })),
  'sub past every id': resign((payload) => ({ ...payload, sub: '9'.repeat(30) })),
  'typ missing': resign(({ typ: _, ...payload }) => payload),
  'typ a list': resign((payload) => ({ ...payload, typ: [payload['typ']] })),
  'typ in capitals': resign((payload) => ({ ...payload, typ: String(payload['typ']).toUpperCase() })),
  'sid or ver missing': resign(({ sid: _sid, ver: _ver, ...payload }) => payload),
  'sid or ver of the wrong type': resign(({ sid, ver, ...payload }) =>
    sid ? { ...payload, sid: [sid] } : { ...payload, ver: String(ver) },
  ),
  'a payload that is a list': (token) => forge({ payload: [payloadOf(token)] }),
}

test('401: a forged token is refused by every endpoint and changes nothing', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  for (const [defect, forged] of Object.entries(FORGERIES))
    await t.test(`a token with ${defect}`, async () => {
      for (const endpoint of KINDS) {
        const { actor, token } = await holder(service, endpoint)
        const before = await findUserById(service.db, actor.id)
        refusedAt(endpoint, await service.app.inject(ENDPOINTS[endpoint](forged(token))), 'That token is Invalid')
        assert.deepEqual(await findUserById(service.db, actor.id), before)
        assert.equal(
          (await service.app.inject(ENDPOINTS[endpoint](token))).statusCode,
          SUCCESS[endpoint],
          `the valid ${endpoint} token still works`,
        )
      }
    })
})

test('401: every endpoint reports an expired token, unless the token is also invalid', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  const holders = await Promise.all(KINDS.map(async (kind) => ({ kind, ...(await holder(service, kind)) })))
  service.clock.advance({ days: 31 })
  for (const { kind, token } of holders) {
    refusedAt(kind, await service.app.inject(ENDPOINTS[kind](token)), 'That token has Expired')
    refusedAt(kind, await service.app.inject(ENDPOINTS[kind](`${token.slice(0, -4)}AAAA`)), 'That token is Invalid')
    const otherKind = kind === 'reset' ? 'verify' : 'reset'
    refused(await service.app.inject(ENDPOINTS[otherKind](token)), 401, 'That token is Invalid')
  }
})

test('401: a token of 1,024 characters is accepted, and a longer one is refused', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  const padded = (token: string, length: number) => {
    const tokens = Array.from({ length: 800 }, (_, size) => forge({ payload: { ...payloadOf(token), padding: 'x'.repeat(size) } }))
    return tokens.find((candidate) => candidate.length === length) ?? assert.fail(`no token has ${length} characters`)
  }
  for (const endpoint of KINDS) {
    const { token } = await holder(service, endpoint)
    const [longest, tooLong] = [padded(token, 1024), padded(token, 1025)]
    refusedAt(endpoint, await service.app.inject(ENDPOINTS[endpoint](tooLong)), 'That token is Invalid')
    assert.equal((await service.app.inject(ENDPOINTS[endpoint](longest))).statusCode, SUCCESS[endpoint], endpoint)
  }
})

test('a token whose sub is an integer is accepted', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  for (const endpoint of KINDS) {
    const { token } = await holder(service, endpoint)
    const payload = payloadOf(token)
    const response = await service.app.inject(ENDPOINTS[endpoint](forge({ payload: { ...payload, sub: Number(payload['sub']) } })))
    assert.equal(response.statusCode, SUCCESS[endpoint], endpoint)
  }
})

test('401: a token that was accepted before is refused once it has expired', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  const { token } = await holder(service, 'refresh')
  assert.equal((await service.app.inject(refresh(token))).statusCode, 200)
  service.clock.advance({ days: 30 })
  refused(await service.app.inject(refresh(token)), 401, 'That token has Expired')
})

test('401: a token for other services is refused by every endpoint and changes nothing', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  for (const endpoint of KINDS) {
    const { actor } = await holder(service, endpoint)
    const { headers } = await keyHolder(service, await admin(service))
    const token = await issueToken(service.app, { headers })
    const before = await findUserById(service.db, actor.id)
    refusedAt(endpoint, await service.app.inject(ENDPOINTS[endpoint](token)), 'That token is Invalid')
    assert.deepEqual(await findUserById(service.db, actor.id), before)
  }
})
