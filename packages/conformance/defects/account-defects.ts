import { altered, type Body, jsonReply, objectIn, type Plant, type Reply, type Seen } from './mutating-proxy.ts'

/** A planted defect, the check that should find it, and the areas that are run. */
export type Defect = { readonly name: string; readonly check: string; plant(): Plant }

export const isCall = ({ method, path }: Seen, expected: string): boolean => `${method} ${path}` === expected

/** Changes the replies to one endpoint, or to those that match. */
export function onReply(call: string | RegExp, change: (reply: Reply, seen: Seen) => Reply): () => Plant {
  const isMeant = (seen: Seen) => (typeof call === 'string' ? isCall(seen, call) : call.test(`${seen.method} ${seen.path}`))
  return () =>
    async (seen, { forward }) => {
      const reply = await forward()
      return isMeant(seen) ? change(reply, seen) : reply
    }
}

/** Changes those that have this status. */
export function onStatus(call: string | RegExp, status: number, change: (reply: Reply, seen: Seen) => Reply): () => Plant {
  return onReply(call, (reply, seen) => (reply.status === status ? change(reply, seen) : reply))
}

/** Changes the body of requests to one endpoint. */
export function onRequest(call: string, change: (json: Body, seen: Seen) => Body): () => Plant {
  return () =>
    async (seen, { forward }) =>
      isCall(seen, call) && seen.body !== '' ? forward({ json: change(seen.json, seen) }) : forward()
}

export function claimsOf(token: unknown): Body {
  return objectIn(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString())
}

function withPart(token: unknown, index: 0 | 1, changes: Body): string {
  const parts = String(token).split('.')
  const part = objectIn(Buffer.from(parts[index] ?? '', 'base64url').toString())
  parts[index] = Buffer.from(JSON.stringify({ ...part, ...changes })).toString('base64url')
  return parts.join('.')
}

/** A text of JWT shape that the service would not accept. */
export const TOKENS = { token: 'e30.e30.c2lnbmF0dXJl', refresh: 'e30.e30.c2lnbmF0dXJl' }
const padded = (json: Body, name: string) => ({ ...json, [name]: String(json[name]).padEnd(8, 'x') })
/** Whether it is an address of a check whose @ is missing. */
export const isWithoutAt = (email: unknown): boolean => /^conformance-[^@]+$/.test(String(email))
const detailOf = (reply: Reply) => objectIn(reply.body)['detail']

export const ACCOUNT_DEFECTS: readonly Defect[] = [
  {
    name: 'register answers 200',
    check: 'register.status',
    plant: onStatus('POST /register/', 201, (reply) => altered(reply, { status: 200 })),
  },
  {
    name: 'register returns no refresh token',
    check: 'register.tokens',
    plant: onReply('POST /register/', (reply) => altered(reply, { fields: { refresh: undefined } })),
  },
  {
    name: 'access tokens live 24 hours',
    check: 'register.access-lifetime',
    plant: onStatus('POST /register/', 201, (reply) => {
      const { token } = objectIn(reply.body)
      return altered(reply, { fields: { token: withPart(token, 1, { exp: Number(claimsOf(token)['iat']) + 86_400 }) } })
    }),
  },
  {
    name: 'refresh tokens live 7 days',
    check: 'register.refresh-lifetime',
    plant: onStatus('POST /register/', 201, (reply) => {
      const { refresh } = objectIn(reply.body)
      return altered(reply, { fields: { refresh: withPart(refresh, 1, { exp: Number(claimsOf(refresh)['iat']) + 604_800 }) } })
    }),
  },
  {
    name: 'refresh tokens have no typ',
    check: 'register.refresh-type',
    plant: onStatus('POST /register/', 201, (reply) =>
      altered(reply, { fields: { refresh: withPart(objectIn(reply.body)['refresh'], 1, { typ: undefined }) } }),
    ),
  },
  {
    name: 'tokens are signed with HS512',
    check: 'register.jwt',
    plant: onStatus('POST /register/', 201, (reply) =>
      altered(reply, { fields: { token: withPart(objectIn(reply.body)['token'], 0, { alg: 'HS512' }) } }),
    ),
  },
  {
    name: 'the role in a registration is applied',
    check: 'register.privileges',
    plant:
      () =>
      async (seen, { forward, asAdmin }) => {
        const reply = await forward()
        if (isCall(seen, 'POST /register/') && seen.json['role'] === 'admin')
          await asAdmin('POST', `/users/${claimsOf(objectIn(reply.body)['token'])['sub']}/make-admin`)
        return reply
      },
  },
  {
    name: 'an address can be registered twice',
    check: 'register.duplicate',
    plant: onStatus('POST /register/', 400, () => jsonReply(201, TOKENS)),
  },
  {
    name: 'addresses are case-sensitive in registrations',
    check: 'register.duplicate-case',
    plant: onReply('POST /register/', (reply, { json }) =>
      reply.status === 400 && /[A-Z]/.test(String(json['email'])) ? jsonReply(201, TOKENS) : reply,
    ),
  },
  {
    name: 'register accepts a password of 7 characters',
    check: 'register.password-7',
    plant: onRequest('POST /register/', (json) => (String(json['password']).length === 7 ? padded(json, 'password') : json)),
  },
  {
    name: 'register requires 9 characters',
    check: 'register.password-8',
    plant: onRequest('POST /register/', (json) => (String(json['password']).length === 8 ? { ...json, password: 'short' } : json)),
  },
  {
    name: 'register takes any text as an address',
    check: 'register.email-without-at',
    plant: onReply('POST /register/', (reply, { json }) => (isWithoutAt(json['email']) ? jsonReply(201, TOKENS) : reply)),
  },
  {
    name: 'register returns the password',
    check: 'register.no-secrets',
    plant: onStatus('POST /register/', 201, (reply, { json }) => altered(reply, { fields: { password: json['password'] } })),
  },
  {
    name: 'validation errors are texts',
    check: 'register.email-missing',
    plant: onStatus('POST /register/', 422, (reply) => altered(reply, { fields: { detail: 'Validation failed' } })),
  },
  {
    name: 'validation errors are 400',
    check: 'login.email-missing',
    plant: onStatus('POST /login/', 422, (reply) => altered(reply, { status: 400 })),
  },
  {
    name: 'errors have no Content-Type',
    check: 'login.unknown-email',
    plant: onStatus('POST /login/', 400, (reply) => ({ ...reply, headers: {} })),
  },
  {
    name: 'login answers 404 to an unknown address',
    check: 'login.unknown-email',
    plant: loginAnswer((isKnown) => (isKnown ? undefined : jsonReply(404, { detail: 'User not Found' }))),
  },
  {
    name: 'login tells unknown addresses from wrong passwords',
    check: 'login.no-enumeration',
    plant: loginAnswer((isKnown) => (isKnown ? jsonReply(400, { detail: 'Wrong password' }) : undefined)),
  },
  {
    name: 'login answers 401 to a wrong password',
    check: 'login.wrong-password',
    plant: loginAnswer((isKnown) => (isKnown ? jsonReply(401, { detail: 'Wrong email or password' }) : undefined)),
  },
  {
    name: 'unverified users can log in',
    check: 'login.unverified',
    plant: onReply('POST /login/', (reply) => (String(detailOf(reply)).includes('verify') ? jsonReply(200, TOKENS) : reply)),
  },
  {
    name: 'banned users can log in',
    check: 'login.banned',
    plant: onReply('POST /login/', (reply) => (String(detailOf(reply)).includes('banned') ? jsonReply(200, TOKENS) : reply)),
  },
  {
    name: 'addresses are case-sensitive in logins',
    check: 'login.email-case',
    plant: onReply('POST /login/', (reply, { json }) =>
      /[A-Z]/.test(String(json['email'])) ? jsonReply(400, { detail: 'Wrong email or password' }) : reply,
    ),
  },
  {
    name: 'passwords are not case-sensitive',
    check: 'login.password-case',
    plant: onRequest('POST /login/', (json) => ({ ...json, password: String(json['password']).replace(/^a1!/, 'A1!') })),
  },
  {
    name: 'a refresh replaces the refresh token',
    check: 'refresh.not-replaced',
    plant: onStatus('POST /refresh/', 200, (reply) => altered(reply, { fields: { refresh: TOKENS.refresh } })),
  },
  {
    name: 'an access token can refresh',
    check: 'refresh.access-token',
    plant: onReply('POST /refresh/', (reply, { json }) => (claimsOf(json['refresh'])['typ'] === 'access' ? jsonReply(200, TOKENS) : reply)),
  },
  {
    name: 'banned users can refresh',
    check: 'refresh.banned',
    plant: onReply('POST /refresh/', (reply, { json }) =>
      reply.status === 401 && claimsOf(json['refresh'])['exp'] !== 4_000_000_000 && claimsOf(json['refresh'])['typ'] === 'refresh'
        ? jsonReply(200, TOKENS)
        : reply,
    ),
  },
  {
    name: 'refresh tokens may have any length',
    check: 'refresh.too-long',
    plant: onReply('POST /refresh/', (reply, { json }) => (String(json['refresh']).length > 1024 ? jsonReply(200, TOKENS) : reply)),
  },
  {
    name: 'malformed refresh tokens are an internal error',
    check: 'refresh.malformed-1',
    plant: onReply('POST /refresh/', (reply, { json }) =>
      String(json['refresh']).split('.').length < 3 ? jsonReply(500, { detail: 'Internal Server Error' }) : reply,
    ),
  },
  {
    name: 'a code verifies twice',
    check: 'verify.used',
    plant: onReply('GET /verify/', (reply, { query }) =>
      reply.status === 401 && claimsOf(query.get('code'))['typ'] === 'verify'
        ? jsonReply(200, { detail: 'User successfully Verified' })
        : reply,
    ),
  },
  {
    name: 'verify answers 401 for a deleted user',
    check: 'verify.unknown-user',
    plant: onStatus('GET /verify/', 404, (reply) => altered(reply, { status: 401 })),
  },
  {
    name: 'a refresh token verifies',
    check: 'verify.refresh-token',
    plant: onReply('GET /verify/', (reply, { query }) =>
      claimsOf(query.get('code'))['typ'] === 'refresh' ? jsonReply(200, { detail: 'User successfully Verified' }) : reply,
    ),
  },
  {
    name: 'verify answers with a message',
    check: 'verify.status',
    plant: onStatus('GET /verify/', 200, () => jsonReply(200, { message: 'verified' })),
  },
  {
    name: 'forgot-password answers 404 to an unknown address',
    check: 'forgot.unknown',
    plant: forgotAnswer((isKnown, reply) => (isKnown ? reply : jsonReply(404, { detail: 'User not Found' }))),
  },
  {
    name: 'forgot-password has another text for an unknown address',
    check: 'forgot.no-enumeration',
    plant: forgotAnswer((isKnown, reply) => (isKnown ? reply : altered(reply, { fields: { message: 'There is no such user' } }))),
  },
  {
    name: 'forgot-password has a header for known addresses only',
    check: 'forgot.no-enumeration',
    plant: forgotAnswer((isKnown, reply) => (isKnown ? { ...reply, headers: { ...reply.headers, 'x-mail-queued': '1' } } : reply)),
  },
  {
    name: 'banned users can reset their password',
    check: 'reset.banned',
    plant: onReply('POST /reset-password/', (reply, { json }) =>
      reply.status === 401 && claimsOf(json['code'])['typ'] === 'reset'
        ? jsonReply(200, { message: 'Password successfully reset' })
        : reply,
    ),
  },
  {
    name: 'reset accepts a password of 7 characters',
    check: 'reset.password-7',
    plant: onRequest('POST /reset-password/', (json) => (String(json['new_password']).length === 7 ? padded(json, 'new_password') : json)),
  },
  {
    name: 'reset answers a form with JSON',
    check: 'reset.form',
    plant: onReply('POST /reset-password/', (reply, { headers }) =>
      reply.status === 200 && headers['content-type']?.includes('form') ? jsonReply(200, { message: 'done' }) : reply,
    ),
  },
  {
    name: 'reset accepts a verify token',
    check: 'reset.verify-token',
    plant: onReply('POST /reset-password/', (reply, { json }) =>
      claimsOf(json['code'])['typ'] === 'verify' ? jsonReply(200, { message: 'done' }) : reply,
    ),
  },
  {
    name: 'the reset page has another text',
    check: 'reset-page.malformed',
    plant: onReply('GET /reset-password/', (reply) => ({
      ...reply,
      body: reply.body.replaceAll('That token is Invalid', 'Invalid token'),
    })),
  },
  {
    name: 'the reset page shows the form for any code',
    check: 'reset-page.forged',
    plant: onReply('GET /reset-password/', (reply) => ({
      ...reply,
      body: `${reply.body}<form method="post"><input name="new_password"></form>`,
    })),
  },
  {
    name: 'the reset page redirects anywhere',
    check: 'reset-page.own-domain',
    plant: onReply('GET /reset-password/', (reply, { query }) =>
      query.has('next') ? { status: 302, headers: { location: query.get('next') ?? '' }, body: '' } : reply,
    ),
  },
  {
    name: 'the reset page echoes the code',
    check: 'reset-page.escaped',
    plant: onReply('GET /reset-password/', (reply, { query }) => ({ ...reply, body: reply.body + (query.get('code') ?? '') })),
  },
]

/** Whether the proxy has seen the registration of an address. */
function knowing(change: (isKnown: boolean, seen: Seen, reply: Reply) => Reply): () => Plant {
  return () => {
    const known = new Set<string>()
    return async (seen, { forward }) => {
      const reply = await forward()
      const email = String(seen.json['email'])
      if (isCall(seen, 'POST /register/') && reply.status === 201) known.add(email)
      return change(known.has(email), seen, reply)
    }
  }
}

function loginAnswer(refuse: (isKnown: boolean) => Reply | undefined): () => Plant {
  return knowing((isKnown, seen, reply) => (isCall(seen, 'POST /login/') && reply.status === 400 ? (refuse(isKnown) ?? reply) : reply))
}

function forgotAnswer(change: (isKnown: boolean, reply: Reply) => Reply): () => Plant {
  return knowing((isKnown, seen, reply) =>
    isCall(seen, 'POST /forgot-password/') && reply.status === 200 ? change(isKnown, reply) : reply,
  )
}
