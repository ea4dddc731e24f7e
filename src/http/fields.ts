import { Type } from 'typebox'
import { PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH } from '../domain/text.ts'

/** The fields that requests are made of. */
export const Email = Type.String({ format: 'email', maxLength: 254, examples: ['mia@example.com'] })
export const NewPassword = Type.String({
  format: 'password',
  minLength: PASSWORD_MIN_LENGTH,
  maxLength: PASSWORD_MAX_LENGTH,
  examples: ['correct horse battery'],
})
/** A password that is only compared: one that is too short or too long is a wrong one. */
export const GivenPassword = Type.String({ format: 'password', examples: ['correct horse battery'] })
export const Name = Type.String({ trimmed: true, minLength: 1, maxLength: 100 })
/** Length and shape of a token are for the token rules to refuse, with 401. */
export const TokenText = Type.String()
