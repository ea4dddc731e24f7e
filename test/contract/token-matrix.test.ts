import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import type { TokenKind } from '../../src/security/token.ts'
import { findUserById } from '../../src/storage/repositories/user.repository.ts'
import { type Actor, member } from '../support/app/actors.ts'
import { refused } from '../support/app/assertions.ts'
import { forge, payloadOf, unsigned } from '../support/app/forged-tokens.ts'
import { logout, refresh, resetPassword, verify } from '../support/app/requests.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'

/** Every place that takes a token, and the kind that it takes. */
const PLACES: Record<TokenKind, (token: string) => InjectOptions> = {
  access: (token) => logout({ authorization: `Bearer ${token}` }),
  refresh,
  verify,
  reset: (code) => resetPassword({ code }),
}
const KINDS = Object.keys(PLACES) as TokenKind[]
const SUCCESS: Record<TokenKind, number> = { access: 204, refresh: 200, verify: 200, reset: 200 }

/** A fresh account, in the state in which its token of this kind works. */
async function holder(service: TestApp, kind: TokenKind): Promise<{ actor: Actor; token: string; all: Record<TokenKind, string> }> {
  const actor = await member(service, { verified: kind !== 'verify' })
  const { tokens } = service.services
  const all: Record<TokenKind, string> = {
    access: actor.token,
    refresh: actor.refresh,
    verify: tokens.forMail('verify', actor.id, actor.emailVersion),
    reset: tokens.forMail('reset', actor.id, actor.resetVersion),
  }
  return { actor, token: all[kind], all }
}

test('each place takes tokens of its own kind and refuses the three others', async (t) => {
  const service = await startApp(t)
  for (const place of KINDS) {
    for (const kind of KINDS) {
      const { all } = await holder(service, place)
      const response = await service.app.inject(PLACES[place](all[kind]))
      if (kind === place) assert.equal(response.statusCode, SUCCESS[place], `${kind} at ${place}`)
      else refused(response, 401, 'That token is Invalid')
    }
  }
})

const STRANGE_SECRET = 'another secret that is long enough'

type Spoiling = (token: string) => string
const resign =
  (change: (payload: Record<string, unknown>) => object): Spoiling =>
  (token) =>
    forge({ payload: change(payloadOf(token)) })
const withHeader =
  (header: object, hash = 'sha256'): Spoiling =>
  (token) =>
    forge({ header, payload: payloadOf(token), hash })

/** Every way of spoiling a good token, and the answer to it everywhere. */
const SPOILED: Record<string, Spoiling> = {
  empty: () => '',
  'two parts': (token) => token.split('.').slice(0, 2).join('.'),
  'four parts': (token) => `${token}.x`,
  'an empty signature': (token) => `${token.split('.').slice(0, 2).join('.')}.`,
  'characters outside base64url': (token) => token.replace('.', '.+/='),
  'a space in it': (token) => `${token.slice(0, 20)} ${token.slice(20)}`,
  'over 1024 characters': resign((payload) => ({ ...payload, padding: 'x'.repeat(800) })),
  'a changed payload': (token) =>
    token.replace(/\.[^.]+\./, `.${Buffer.from(JSON.stringify({ ...payloadOf(token), sub: '4711' })).toString('base64url')}.`),
  'a changed signature': (token) => `${token.slice(0, -4)}${token.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`,
  'another secret': (token) => forge({ payload: payloadOf(token), secret: STRANGE_SECRET }),
  'alg none': (token) => unsigned(payloadOf(token)),
  'alg None with a signature': withHeader({ alg: 'None', typ: 'JWT' }),
  'alg HS384': withHeader({ alg: 'HS384', typ: 'JWT' }, 'sha384'),
  'alg HS512': withHeader({ alg: 'HS512', typ: 'JWT' }, 'sha512'),
  'alg RS256 signed with HMAC': withHeader({ alg: 'RS256', typ: 'JWT' }),
  'alg missing': withHeader({ typ: 'JWT' }),
  'a critical extension': withHeader({ alg: 'HS256', typ: 'JWT', crit: ['x'], x: 1 }),
  'a critical extension that is null': withHeader({ alg: 'HS256', typ: 'JWT', crit: null }),
  'a key of its own in the header': (token) =>
    forge({
      header: { alg: 'HS256', typ: 'JWT', jwk: { kty: 'oct', k: Buffer.from(STRANGE_SECRET).toString('base64url') } },
      payload: payloadOf(token),
      secret: STRANGE_SECRET,
    }),
  'a key id that is a path, signed with nothing': (token) =>
    forge({ header: { alg: 'HS256', typ: 'JWT', kid: '../../../dev/null' }, payload: payloadOf(token), secret: '' }),
  'a key id that is SQL': (token) =>
    forge({ header: { alg: 'HS256', typ: 'JWT', kid: "x' union select 'x" }, payload: payloadOf(token), secret: 'x' }),
  'an address of keys': (token) =>
    forge({
      header: { alg: 'HS256', typ: 'JWT', jku: 'https://evil.example/keys', x5u: 'https://evil.example/cert' },
      payload: payloadOf(token),
      secret: STRANGE_SECRET,
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
  'what binds it missing': resign(({ sid: _sid, ver: _ver, ...payload }) => payload),
  'what binds it of another type': resign(({ sid, ver, ...payload }) =>
    sid ? { ...payload, sid: [sid] } : { ...payload, ver: String(ver) },
  ),
  'a payload that is a list': (token) => forge({ payload: [payloadOf(token)] }),
}

for (const [fault, spoil] of Object.entries(SPOILED)) {
  test(`401: a token with ${fault} is refused everywhere and changes nothing`, async (t) => {
    const service = await startApp(t)
    for (const place of KINDS) {
      const { actor, token } = await holder(service, place)
      const before = await findUserById(service.db, actor.id)
      refused(await service.app.inject(PLACES[place](spoil(token))), 401, 'That token is Invalid')
      assert.deepEqual(await findUserById(service.db, actor.id), before)
      assert.equal((await service.app.inject(PLACES[place](token))).statusCode, SUCCESS[place], `the good token still works at ${place}`)
    }
  })
}

test('401: an expired token is told so everywhere, unless anything else is wrong with it', async (t) => {
  const service = await startApp(t)
  const holders = await Promise.all(KINDS.map(async (kind) => ({ kind, ...(await holder(service, kind)) })))
  service.clock.advance({ days: 31 })
  for (const { kind, token } of holders) {
    refused(await service.app.inject(PLACES[kind](token)), 401, 'That token has Expired')
    refused(await service.app.inject(PLACES[kind](`${token.slice(0, -4)}AAAA`)), 401, 'That token is Invalid')
    const otherKind = kind === 'reset' ? 'verify' : 'reset'
    refused(await service.app.inject(PLACES[otherKind](token)), 401, 'That token is Invalid')
  }
})

test('sub may be an integer', async (t) => {
  const service = await startApp(t)
  for (const place of KINDS) {
    const { token } = await holder(service, place)
    const payload = payloadOf(token)
    const response = await service.app.inject(PLACES[place](forge({ payload: { ...payload, sub: Number(payload['sub']) } })))
    assert.equal(response.statusCode, SUCCESS[place], place)
  }
})

test('401: a token that was good is refused once it has expired, although its signature was seen before', async (t) => {
  const service = await startApp(t)
  const { token } = await holder(service, 'refresh')
  assert.equal((await service.app.inject(refresh(token))).statusCode, 200)
  service.clock.advance({ days: 30 })
  refused(await service.app.inject(refresh(token)), 401, 'That token has Expired')
})
