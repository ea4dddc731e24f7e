import { NAME_MAX_LENGTH } from '../../domain/values/limits.ts'
import { PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH } from '../../domain/values/text.ts'
import { Type } from './schema.ts'

// Three base64url parts, as in every token: `{"alg":"HS256"}`, `{"sub":"7"}` and a signature that is none.
export const TOKEN_EXAMPLE = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2lnbmF0dXJl'

/** The fields that requests are made of. */
export const Email = Type.String({
  format: 'email',
  maxLength: 254,
  description: 'One e-mail address. Upper and lower case make no difference.',
  examples: ['mia@example.com'],
})
export const NewPassword = Type.String({
  format: 'password',
  minLength: PASSWORD_MIN_LENGTH,
  maxLength: PASSWORD_MAX_LENGTH,
  description: 'The new password, kept exactly as it is sent.',
  examples: ['correct horse battery'],
})
/** A password that is only compared: one that is too short or too long is a wrong one. */
export const GivenPassword = Type.String({
  format: 'password',
  description: 'The password of the account.',
  examples: ['correct horse battery'],
})
export const FirstName = nameField('The first name. White space around it is removed.', 'Mia')
export const LastName = nameField('The last name. White space around it is removed.', 'Muster')
/** Length and shape of a token are for the token rules to refuse, with 401. */
export const RefreshToken = tokenField('The `refresh` token of a login or a registration.')
export const VerificationCode = tokenField('The code in the link of the verification mail.')
export const ResetCode = tokenField('The code in the link of the mail.')

export function nameField(description: string, example: string) {
  return Type.String({ trimmed: true, minLength: 1, maxLength: NAME_MAX_LENGTH, description, examples: [example] })
}

function tokenField(description: string) {
  return Type.String({ description, examples: [TOKEN_EXAMPLE] })
}
