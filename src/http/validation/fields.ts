import { NAME_MAX_LENGTH } from '../../domain/values/limits.ts'
import { PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH } from '../../domain/values/text.ts'
import { Type } from './schema.ts'

// Three base64url parts, as in every token: `{"alg":"HS256"}`, `{"sub":"7"}` and a signature that is not valid.
export const TOKEN_EXAMPLE = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2lnbmF0dXJl'

/** The fields that several requests share. */
export const Email = Type.String({
  format: 'email',
  maxLength: 254,
  description: 'An e-mail address. Case does not matter.',
  examples: ['mia@example.com'],
})
export const NewPassword = Type.String({
  format: 'password',
  minLength: PASSWORD_MIN_LENGTH,
  maxLength: PASSWORD_MAX_LENGTH,
  description: 'The new password, used exactly as it is sent.',
  examples: ['correct horse battery'],
})
/** A password that is only compared: if it is too short or too long, it is wrong, not invalid. */
export const GivenPassword = Type.String({
  format: 'password',
  description: 'The password of the account.',
  examples: ['correct horse battery'],
})
export const FirstName = nameField('The first name. Leading and trailing white space is removed.', 'Mia')
export const LastName = nameField('The last name. Leading and trailing white space is removed.', 'Muster')
/** The token rules check the length and the format of a token and answer 401, so the schema does not restrict them. */
export const RefreshToken = tokenField('The `refresh` token from a login or a registration.')
export const VerificationCode = tokenField('The code from the link in the verification mail.')
export const ConfirmationCode = tokenField('The code from the link in the mail to the new address.')
export const ResetCode = tokenField('The code from the link in the mail.')

export function nameField(description: string, example: string) {
  return Type.String({ trimmed: true, minLength: 1, maxLength: NAME_MAX_LENGTH, description, examples: [example] })
}

function tokenField(description: string) {
  return Type.String({ description, examples: [TOKEN_EXAMPLE] })
}
