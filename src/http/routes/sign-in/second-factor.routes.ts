import type { SecondFactorRule } from '../../../domain/identity/requirements.ts'
import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { Confirmation, Login } from '../../../domain/sign-in/login.service.ts'
import type { SecondFactor } from '../../../domain/sign-in/second-factor.service.ts'
import { described, Empty } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { flag, GivenPassword, integer, type Static, Type, text } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { UserPath } from '../users/user.schemas.ts'
import { TokenPairView } from './sign-in.routes.ts'

export const Credential = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  description: 'What `PublicKeyCredential.toJSON()` returns in a browser.',
  examples: [{ id: 'YWJj', rawId: 'YWJj', type: 'public-key', response: {} }],
})
export const Challenge = text('The `challenge` of a login that needs a second step.', 'b3BhcXVl', { maxLength: 200 })
const Code = text('Six digits from the app, or a recovery code.', '123456', { maxLength: 40 })

const ConfirmBody = Type.Object(
  { password: Type.Optional(GivenPassword), code: Type.Optional(Code), passkey: Type.Optional(Credential) },
  { title: 'Confirmation', description: 'Exactly one of them shows who is calling.', exactlyOne: ['password', 'code', 'passkey'] },
)
const CodeBody = Type.Object({ code: Code }, { title: 'Code', description: 'A code of the app.' })
const SecondStepBody = Type.Object(
  { challenge: Challenge, code: Type.Optional(Code), passkey: Type.Optional(Credential) },
  {
    title: 'SecondStepAnswer',
    description: 'The challenge of the first step, and either a code or a passkey.',
    exactlyOne: ['code', 'passkey'],
  },
)

const StatusView = Type.Object(
  {
    totp: flag('Whether a login asks for a code of an app.', false),
    passkeys: integer('The number of passkeys.', 0),
    recovery_codes: integer('The number of recovery codes that are left.', 0),
    required: flag('Whether the service requires a second factor of this account.', false),
  },
  { title: 'SecondFactor', description: 'What an account has besides its password.' },
)
const TotpView = Type.Object(
  {
    secret: text('For the app, in base32.', 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'),
    uri: text('The content of a QR code for the app.', 'otpauth://totp/Latchkey:mia%40example.com?secret=JBSWY3DPEHPK3PXP'),
  },
  { title: 'TotpSetup', description: 'A secret for an app. Nothing changes until a code of it is confirmed, within 15 minutes.' },
)
const RecoveryCodesView = Type.Object(
  {
    recovery_codes: Type.Array(Type.String(), { description: 'Each works once. They are never shown again.', examples: [['abcde-fghij']] }),
  },
  { title: 'RecoveryCodes', description: 'Codes for the day when the app is lost.' },
)

type Parts = {
  readonly login: Login
  readonly secondFactor: SecondFactor
  readonly limiter: Limiter
  readonly rule: SecondFactorRule
}

export function secondFactorRoutes(app: App, { login, secondFactor, limiter, rule }: Parts): void {
  const api = createApiRoutes(app, 'Second factor')
  const path = '/users/me/second-factor'
  // For a session that was opened or confirmed lately.
  const confirmed = { access: 'user', acceptedKeys: 'none', writes: true, needsConfirmation: true, worksWithoutFactor: 'setup' } as const

  api.post('/login/second-factor', 'loginSecondStep', {
    config: { access: 'public', writes: true, limits: { ip: 'login:ip' } },
    summary: 'Complete a login',
    description: 'The second step of a login. Five wrong codes end the challenge.',
    body: SecondStepBody,
    response: {
      200: described(TokenPairView, 'The tokens of a new session.'),
      refuses: ['code_refused', 'passkey_refused', 'invalid_challenge'],
    },
    handle: ({ origin, places, body }) =>
      limiter.settle(places, origin, () => {
        const { challenge, code, passkey } = body
        return login.api.bySecondStep(origin, challenge, passkey === undefined ? { code: code ?? '' } : { passkey })
      }),
  })

  api.post('/users/me/confirm', 'confirmSession', {
    config: { access: 'user', acceptedKeys: 'none', writes: true, worksWithoutFactor: true },
    summary: 'Confirm that it is you',
    description: 'For ten minutes, this session may change how its account is opened. A code or a passkey also gives it its second factor.',
    body: ConfirmBody,
    response: { 204: Empty, refuses: ['wrong_credentials', 'invalid_code', 'invalid_passkey', 429] },
    handle: ({ actor, body }) => login.confirm(actor, confirmationOf(body), limiter),
  })

  api.get(path, 'getSecondFactor', {
    config: { access: 'user', acceptedKeys: 'read', writes: false, worksWithoutFactor: true },
    summary: 'See your second factor',
    description: 'What your account has besides its password.',
    response: { 200: described(StatusView, 'What the account has.'), refuses: ['user_not_found'] },
    handle: async ({ caller: { user } }) => {
      const { totp, passkeys, recoveryCodes } = await secondFactor.status(user.id)
      const required = rule === 'everybody' || (rule === 'admins' && user.role === 'admin')
      return { totp, passkeys, recovery_codes: recoveryCodes, required }
    },
  })

  api.post(`${path}/totp`, 'beginTotp', {
    config: confirmed,
    summary: 'Set up codes from an app',
    description: 'Nothing changes until a code is confirmed. Another call replaces the secret.',
    response: { 201: described(TotpView, 'The secret for the app.'), refuses: ['second_factor_on', ...ASKED] },
    handle: async ({ actor }, reply) => reply.code(201).send(await secondFactor.begin(actor)),
  })

  api.post(`${path}/totp/confirm`, 'confirmTotp', {
    config: confirmed,
    summary: 'Turn codes from an app on',
    description: 'From then on, a login asks for a code. The response has ten recovery codes, which are never shown again.',
    body: CodeBody,
    response: { 200: described(RecoveryCodesView, 'Codes are on.'), refuses: ['invalid_code', ...ASKED] },
    handle: async ({ actor, body }) => ({ recovery_codes: [...(await secondFactor.confirm(actor, body.code))] }),
  })

  api.delete(`${path}/totp`, 'removeTotp', {
    config: confirmed,
    summary: 'Turn codes from an app off',
    description: 'The recovery codes go with them.',
    response: { 204: Empty, refuses: ['second_factor_off', ...ASKED] },
    handle: ({ actor }) => secondFactor.remove(actor),
  })

  api.post(`${path}/recovery-codes`, 'renewRecoveryCodes', {
    config: confirmed,
    summary: 'Get new recovery codes',
    description: 'The old ones stop working.',
    response: { 200: described(RecoveryCodesView, 'Ten new codes.'), refuses: ['second_factor_off', ...ASKED] },
    handle: async ({ actor }) => ({ recovery_codes: [...(await secondFactor.renewRecoveryCodes(actor))] }),
  })

  api.delete('/users/:user_id/second-factor', 'resetSecondFactor', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'Reset the second factor of a user',
    description: 'Removes codes, recovery codes and passkeys, and ends all sessions of the user.',
    params: UserPath,
    response: { 204: Empty, refuses: ['user_not_found'] },
    handle: ({ actor, params }) => secondFactor.reset(actor, params.user_id),
  })
}

const ASKED = ['confirmation_required', 'user_not_found'] as const

function confirmationOf({ password, code, passkey }: Static<typeof ConfirmBody>): Confirmation {
  if (password !== undefined) return { password }
  return passkey === undefined ? { code: code ?? '' } : { passkey }
}
