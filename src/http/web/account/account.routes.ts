import type { App } from '../../pipeline/declarations.ts'
import { accountKeysRoutes, type KeysParts } from './keys.routes.ts'
import { accountMailRequestRoutes, type MailRequestParts } from './mail-request.routes.ts'
import { accountPasswordRoutes, type PasswordParts } from './password.routes.ts'
import { accountProfileRoutes, type ProfileParts } from './profile.routes.ts'
import { accountRegisterRoutes, type RegisterParts } from './register.routes.ts'
import { accountSessionsRoutes, type SessionsParts } from './sessions.routes.ts'

export type AccountParts = RegisterParts & MailRequestParts & ProfileParts & PasswordParts & SessionsParts & KeysParts

/** The pages of the account, in the order of their navigation. */
export function accountRoutes(app: App, parts: AccountParts): void {
  accountRegisterRoutes(app, parts)
  accountMailRequestRoutes(app, parts)
  accountProfileRoutes(app, parts)
  accountPasswordRoutes(app, parts)
  accountSessionsRoutes(app, parts)
  accountKeysRoutes(app, parts)
}
