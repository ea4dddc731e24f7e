import type { ProductData } from '../../../domain/users/user-data.service.ts'
import { MAX_LEVELS } from '../../../domain/values/json.ts'
import type { JsonObject } from '../../../model/entity.ts'
import { USER_DATA, type UserData } from '../../../model/user.ts'
import { described } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { JSON_TYPE, MERGE_PATCH_TYPE } from '../../pipeline/input.ts'
import { type Static, Type } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { UserPath } from './user.schemas.ts'

const PROFILE = { type: 'object', description: 'What the owner of the account writes.', examples: [{ theme: 'dark' }] }
const APP = {
  type: 'object',
  description: 'What only admins write, and the owner reads.',
  examples: [{ tenant: 'acme', roles: ['editor'] }],
}

const PARTS = {
  profile: Type.Unsafe<JsonObject>({ ...PROFILE, additionalProperties: true }),
  app: Type.Unsafe<JsonObject>({ ...APP, additionalProperties: true }),
}

const UserDataView = Type.Object(PARTS, { title: 'UserData', description: 'What the product keeps about an account.' })
/** In another view, on request. */
export const AddedData = Type.Object(PARTS, {
  description: 'What the product keeps about the account. With `data=true` only.',
  examples: [{ profile: PROFILE.examples[0], app: APP.examples[0] }],
})

const RULES = { clearable: true, maxLevels: MAX_LEVELS }
const Patch = Type.Object(
  {
    profile: Type.Optional(Type.Unsafe<JsonObject | null>({ ...PROFILE, ...RULES })),
    app: Type.Optional(Type.Unsafe<JsonObject | null>({ ...APP, ...RULES })),
  },
  {
    title: 'UserDataPatch',
    description:
      'A JSON Merge Patch (RFC 7396): given fields are set, null removes one, lists are replaced. Null in place of an object empties it.',
  },
)
const PatchBody = Type.Unsafe<Static<typeof Patch>>({
  content: { [JSON_TYPE]: { schema: Patch }, [MERGE_PATCH_TYPE]: { schema: Patch } },
})

const LIMITS = `Each object has at most 16,384 bytes as JSON, and at most ${MAX_LEVELS} levels.`

export const userDataView = USER_DATA.toJson satisfies (data: UserData) => Static<typeof UserDataView>

/** What the product keeps about accounts: for their owners, and for admins. */
export function userDataRoutes(app: App, productData: ProductData): void {
  const own = createApiRoutes(app, 'Users')
  own.get('/users/me/data', 'getOwnData', {
    config: { access: 'user', acceptedKeys: 'read', writes: false },
    summary: 'Get your own data',
    description: 'What the product keeps about your account.',
    response: { 200: described(UserDataView, 'Your data.') },
    handle: async (request) => userDataView(await productData.ofCaller(request)),
  })
  own.patch('/users/me/data', 'editOwnData', {
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    summary: 'Change your own profile data',
    description: `A body with \`app\` is refused: only admins write it. ${LIMITS}`,
    body: PatchBody,
    response: { 200: described(UserDataView, 'All of your data after the change.'), refuses: ['data_too_large'] },
    handle: async ({ actor, body }) => userDataView(await productData.patchOwn(actor, body)),
  })

  const api = createApiRoutes(app, 'User administration')
  api.get('/users/:user_id/data', 'getUserData', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    summary: 'Get the data of a user',
    description: 'What the product keeps about the account.',
    params: UserPath,
    response: { 200: described(UserDataView, 'The data of the user.'), refuses: ['user_not_found'] },
    handle: async ({ params }) => userDataView(await productData.find(params.user_id)),
  })
  api.patch('/users/:user_id/data', 'editUserData', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'Change the data of a user',
    description: `Both objects, or one of them. ${LIMITS}`,
    params: UserPath,
    body: PatchBody,
    response: { 200: described(UserDataView, 'All data of the user after the change.'), refuses: ['data_too_large', 'user_not_found'] },
    handle: async ({ actor, params, body }) => userDataView(await productData.patch(actor, params.user_id, body)),
  })
}
