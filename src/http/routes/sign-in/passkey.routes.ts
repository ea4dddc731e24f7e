import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { Login } from '../../../domain/sign-in/login.service.ts'
import type { Passkeys } from '../../../domain/sign-in/passkeys.service.ts'
import { PASSKEY } from '../../../model/factor.ts'
import { Refusal } from '../../../model/refusal.ts'
import { described, Empty } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { flag, nameField, nullable, Type, text, timestamp } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { Challenge, Credential } from './second-factor.routes.ts'
import { TokenPairView } from './sign-in.routes.ts'

const PasskeyId = text('The id of a passkey.', '0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41')
const PasskeyName = nameField('What its owner calls it.', 'My phone')
const PasskeyPath = Type.Object({ id: PasskeyId })
const NewPasskey = Type.Object(
  { name: PasskeyName, credential: Credential },
  { title: 'NewPasskey', description: 'A passkey that was just created.' },
)
const NameBody = Type.Object({ name: PasskeyName }, { title: 'PasskeyName', description: 'The new name of a passkey.' })
const SignInBody = Type.Object({ credential: Credential }, { title: 'PasskeyLogin', description: 'The answer of a passkey.' })
const OptionsBody = Type.Object(
  { challenge: Type.Optional(Challenge) },
  { title: 'PasskeyQuestion', description: 'The challenge of a login, if the passkey is its second step.', mayBeAbsent: true },
)

const PasskeyView = Type.Object(
  {
    id: PasskeyId,
    name: text('What its owner calls it.', 'My phone'),
    created_at: timestamp('When it was added, in UTC.'),
    last_used_at: nullable(timestamp('When it was last used, in UTC.')),
    backed_up: flag('Whether its provider keeps a copy.', true),
  },
  { title: 'Passkey', description: 'A passkey of an account.' },
)
/** Options for a browser are passed on as they are. */
const OptionsView = Type.Unsafe<object>({
  type: 'object',
  description: 'For the browser, as JSON.',
  examples: [{ challenge: 'YWJj' }],
  additionalProperties: true,
})

type Parts = { readonly passkeys: Passkeys | undefined; readonly login: Login; readonly limiter: Limiter }

/** Passkeys. Where browsers accept none for the address of the service, the paths answer 404. */
export function passkeyRoutes(app: App, { passkeys, login, limiter }: Parts): void {
  const api = createApiRoutes(app, 'Passkeys')
  const isDisabled = passkeys === undefined
  const path = '/users/me/passkeys'
  const own = { access: 'user', writes: true, worksWithoutFactor: 'setup', isDisabled } as const
  const confirmed = { ...own, acceptedKeys: 'none', needsConfirmation: true } as const
  const enabled = () => {
    if (passkeys === undefined) throw new Refusal('passkey_not_found', 'passkeys are off')
    return passkeys
  }

  api.post('/login/passkey/options', 'passkeyLoginOptions', {
    config: { access: 'public', writes: false, isDisabled },
    summary: 'Ask for a passkey',
    description: 'For `PublicKeyCredential.parseRequestOptionsFromJSON()`. The options are the same for everybody but for the challenge.',
    body: OptionsBody,
    response: { 200: described(OptionsView, 'The options.') },
    handle: ({ body }) => enabled().requestOptions(body.challenge),
  })

  api.post('/login/passkey', 'passkeyLogin', {
    config: { access: 'public', writes: true, limits: { ip: 'login:ip' }, isDisabled },
    summary: 'Log in with a passkey',
    description: 'Starts a session that has a second factor.',
    body: SignInBody,
    response: {
      200: described(TokenPairView, 'The tokens of a new session.'),
      refuses: ['passkey_refused', 'login_banned', 'login_unverified'],
    },
    handle: ({ origin, places, body }) => limiter.settle(places, origin, () => login.api.byPasskey(origin, body.credential)),
  })

  api.post(`${path}/options`, 'passkeyCreationOptions', {
    config: confirmed,
    summary: 'Prepare a new passkey',
    description: 'For `PublicKeyCredential.parseCreationOptionsFromJSON()`.',
    response: { 200: described(OptionsView, 'The options.'), refuses: ['too_many_passkeys', ...ASKED] },
    handle: ({ actor }) => enabled().creationOptions(actor),
  })

  api.post(path, 'addPasskey', {
    config: confirmed,
    summary: 'Add a passkey',
    description: 'Adds the passkey that the browser has created. A login with the password does not ask for it.',
    body: NewPasskey,
    response: { 201: described(PasskeyView, 'The passkey.'), refuses: ['invalid_passkey', 'too_many_passkeys', ...ASKED] },
    handle: async ({ actor, body }, reply) => reply.code(201).send(PASSKEY.toJson(await enabled().add(actor, body.name, body.credential))),
  })

  api.get(path, 'listPasskeys', {
    config: { access: 'user', acceptedKeys: 'read', writes: false, worksWithoutFactor: true, isDisabled },
    summary: 'List your passkeys',
    description: 'The oldest first.',
    response: { 200: described(Type.Array(PasskeyView), 'Your passkeys.') },
    handle: async ({ caller }) => (await enabled().list(caller.user.id)).map(PASSKEY.toJson),
  })

  api.patch(`${path}/:id`, 'renamePasskey', {
    config: { ...own, acceptedKeys: 'full' },
    summary: 'Rename a passkey',
    description: 'Changes what you call it.',
    params: PasskeyPath,
    body: NameBody,
    response: { 200: described(PasskeyView, 'The passkey.'), refuses: ['passkey_not_found', 'user_not_found'] },
    handle: async ({ actor, params, body }) => PASSKEY.toJson(await enabled().rename(actor, params.id, body.name)),
  })

  api.delete(`${path}/:id`, 'removePasskey', {
    config: confirmed,
    summary: 'Remove a passkey',
    description: 'It can no longer be used to sign in. The last way to sign in cannot be taken away.',
    params: PasskeyPath,
    response: { 204: Empty, refuses: ['passkey_not_found', 'only_way_in', ...ASKED] },
    handle: ({ actor, params }) => enabled().remove(actor, params.id),
  })
}

const ASKED = ['confirmation_required', 'user_not_found'] as const
