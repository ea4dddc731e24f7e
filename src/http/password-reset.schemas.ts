import { Type } from 'typebox'
import { GivenPassword, NewPassword, TokenText } from './fields.ts'

/** Without a code the page says so; it is not for the query to refuse (spec 4.2). */
export const ResetPageQuery = Type.Object({ code: Type.Optional(TokenText) })

const ResetBody = Type.Object({ code: TokenText, new_password: NewPassword })
const ResetForm = Type.Object({ code: TokenText, new_password: NewPassword, confirm_password: Type.Optional(GivenPassword) })

export const ResetContent = {
  content: {
    'application/json': { schema: ResetBody },
    'application/x-www-form-urlencoded': { schema: ResetForm },
    'multipart/form-data': { schema: ResetForm },
  },
}

/** What the validation of either form of the body leaves. */
export type ResetInput = { readonly code: string; readonly new_password: string; readonly confirm_password?: string }
