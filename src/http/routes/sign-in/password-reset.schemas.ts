import { GivenPassword, NewPassword, ResetCode } from '../../validation/fields.ts'
import { Type } from '../../validation/schema.ts'

/** The code is optional, because a missing code leads to a page, not to a validation error (spec 4.2). */
export const ResetPageQuery = Type.Object({ code: Type.Optional(ResetCode) })

const ResetBody = Type.Object(
  { code: ResetCode, new_password: NewPassword },
  { title: 'PasswordReset', description: 'The code of a reset link and the new password.' },
)
const ResetForm = Type.Object(
  {
    code: ResetCode,
    new_password: NewPassword,
    confirm_password: Type.Optional({ ...GivenPassword, description: 'The new password again, to catch typing errors.' }),
  },
  { title: 'PasswordResetForm', description: 'The code of a reset link and the new password, as a form.' },
)

export const ResetContent = {
  content: {
    'application/json': { schema: ResetBody },
    'application/x-www-form-urlencoded': { schema: ResetForm },
    'multipart/form-data': { schema: ResetForm },
  },
}

/** The parsed body, sent as JSON or as a form. */
export type ResetInput = { readonly code: string; readonly new_password: string; readonly confirm_password?: string }
