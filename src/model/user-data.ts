import { entity, integer, object, type ValuesOf } from './entity.ts'

/** What a product keeps about an account: `profile`, which its owner writes, and `app`, which only admins write. */
export const USER_DATA = entity('user_data', { profile: object, app: object })
export const USER_DATA_ROW = entity('user_data', { userId: integer, ...USER_DATA.fields })

export type UserData = ValuesOf<typeof USER_DATA.fields>
export type UserDataRow = ValuesOf<typeof USER_DATA_ROW.fields>

export const NO_DATA: UserData = { profile: {}, app: {} }
