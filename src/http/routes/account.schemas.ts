import {
  Email,
  FirstName,
  GivenPassword,
  LastName,
  NewPassword,
  RefreshToken,
  TOKEN_EXAMPLE,
  VerificationCode,
} from '../validation/fields.ts'
import { Type } from '../validation/schema.ts'

export const RegisterBody = Type.Object(
  { email: Email, password: NewPassword, first_name: FirstName, last_name: LastName },
  { title: 'Registration' },
)
export const LoginBody = Type.Object({ email: Email, password: GivenPassword }, { title: 'Login' })
export const RefreshBody = Type.Object({ refresh: RefreshToken }, { title: 'Refresh' })
export const EmailBody = Type.Object({ email: Email }, { title: 'EmailAddress' })
export const VerifyQuery = Type.Object({ code: VerificationCode })

const AccessToken = Type.String({
  description: 'The access token: send it as `Authorization: Bearer …`. It lives 120 minutes.',
  examples: [TOKEN_EXAMPLE],
})

export const TokenPairView = Type.Object(
  {
    token: AccessToken,
    refresh: Type.String({ description: 'Gives a new access token at `/refresh/`, for 30 days.', examples: [TOKEN_EXAMPLE] }),
  },
  { title: 'TokenPair' },
)
export const TokenView = Type.Object({ token: AccessToken }, { title: 'AccessToken' })
export const DetailView = Type.Object(
  { detail: Type.String({ description: 'What was done, in words.', examples: ['User successfully Verified'] }) },
  { title: 'Detail' },
)
export const MessageView = Type.Object(
  { message: Type.String({ description: 'What was done, in words.', examples: ['Password successfully reset'] }) },
  { title: 'Message' },
)
