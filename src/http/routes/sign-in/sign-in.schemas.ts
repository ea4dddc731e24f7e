import {
  ConfirmationCode,
  Email,
  FirstName,
  GivenPassword,
  LastName,
  NewPassword,
  RefreshToken,
  TOKEN_EXAMPLE,
  VerificationCode,
} from '../../validation/fields.ts'
import { Type } from '../../validation/schema.ts'

export const RegisterBody = Type.Object(
  { email: Email, password: NewPassword, first_name: FirstName, last_name: LastName },
  { title: 'Registration', description: 'A new account.' },
)
export const LoginBody = Type.Object(
  { email: Email, password: GivenPassword },
  { title: 'Login', description: 'The credentials of an account.' },
)
export const RefreshBody = Type.Object({ refresh: RefreshToken }, { title: 'Refresh', description: 'A refresh token.' })
export const EmailBody = Type.Object({ email: Email }, { title: 'EmailAddress', description: 'The address that a mail is sent to.' })
export const VerifyQuery = Type.Object({ code: VerificationCode })
export const ConfirmQuery = Type.Object({ code: ConfirmationCode })

const AccessToken = Type.String({
  description: 'The access token: send it as `Authorization: Bearer …`. It is valid for 120 minutes.',
  examples: [TOKEN_EXAMPLE],
})

export const TokenPairView = Type.Object(
  {
    token: AccessToken,
    refresh: Type.String({
      description: 'The refresh token: exchange it for a new access token at `/refresh/`. It is valid for 30 days.',
      examples: [TOKEN_EXAMPLE],
    }),
  },
  { title: 'TokenPair', description: 'The two tokens of a session.' },
)
export const TokenView = Type.Object({ token: AccessToken }, { title: 'AccessToken', description: 'A new access token.' })
export const DetailView = Type.Object(
  { detail: Type.String({ description: 'What was done, for people.', examples: ['User successfully Verified'] }) },
  { title: 'Detail', description: 'The result of the request.' },
)
export const MessageView = Type.Object(
  { message: Type.String({ description: 'What was done, for people.', examples: ['Password successfully reset'] }) },
  { title: 'Message', description: 'The result of the request.' },
)
