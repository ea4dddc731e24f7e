import { Type } from 'typebox'
import { Email, GivenPassword, Name, NewPassword, TokenText } from './fields.ts'

export const RegisterBody = Type.Object({ email: Email, password: NewPassword, first_name: Name, last_name: Name })
export const LoginBody = Type.Object({ email: Email, password: GivenPassword })
export const RefreshBody = Type.Object({ refresh: TokenText })
export const EmailBody = Type.Object({ email: Email })
export const VerifyQuery = Type.Object({ code: TokenText })

export const TokenPairView = Type.Object({ token: Type.String(), refresh: Type.String() })
export const TokenView = Type.Object({ token: Type.String() })
export const DetailView = Type.Object({ detail: Type.String() })
export const MessageView = Type.Object({ message: Type.String() })
