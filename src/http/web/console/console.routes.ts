import type { Audit } from '../../../domain/audit/audit.service.ts'
import type { KeyDirectory } from '../../../domain/keys/key-use.ts'
import type { ApiKeys } from '../../../domain/keys/keys.service.ts'
import type { LeakedKeys } from '../../../domain/keys/leaked-keys.service.ts'
import type { MailAdministration } from '../../../domain/mail/mail-administration.service.ts'
import type { ActivityLog } from '../../../domain/operations/activity.ts'
import type { Sessions } from '../../../domain/sessions/sessions.service.ts'
import type { Registration } from '../../../domain/sign-in/registration.service.ts'
import type { UserAdministration } from '../../../domain/users/user-administration.service.ts'
import type { UserDirectory } from '../../../domain/users/user-directory.service.ts'
import type { WebhookAdministration } from '../../../domain/webhooks/webhook-administration.service.ts'
import type { KeptMails } from '../../../model/mail.ts'
import type { App } from '../../pipeline/app-type.ts'
import type { PageParts } from '../site/page-routes.ts'
import { consoleAuditRoutes } from './audit.routes.ts'
import { consoleKeysRoutes } from './keys.routes.ts'
import { consoleMailRoutes } from './mail.routes.ts'
import { consoleMailboxRoutes } from './mailbox.routes.ts'
import { consoleNewUserRoutes } from './new-user.routes.ts'
import { consoleOverviewRoutes, type Examine } from './overview.routes.ts'
import { consoleSettingsRoutes, type SettingView } from './settings.routes.ts'
import { consoleStatusRoutes } from './status.routes.ts'
import { consoleUserRoutes } from './user.routes.ts'
import { consoleUsersRoutes } from './users.routes.ts'
import { consoleWebhooksRoutes } from './webhooks.routes.ts'

/** The services that the pages of the console call: the same rules as those of the API. */
export type ConsoleServices = {
  readonly registration: Registration
  readonly audit: Audit
  readonly webhooks: WebhookAdministration
  readonly userDirectory: UserDirectory
  readonly userAdministration: UserAdministration
  readonly sessions: Sessions
  readonly apiKeys: ApiKeys
  readonly keyDirectory: KeyDirectory
  readonly leakedKeys: LeakedKeys
  readonly mailAdministration: MailAdministration
}

export type ConsoleParts = PageParts &
  ConsoleServices & {
    /** The checks of `latchkey doctor`. */
    readonly examine: Examine
    readonly settings: readonly SettingView[]
    readonly keptMails: KeptMails | undefined
    /** What all processes did lately. */
    readonly activity: Pick<ActivityLog, 'lastDay'>
  }

/** The pages of the console, in the order of its navigation. */
export function consoleRoutes(app: App, parts: ConsoleParts): void {
  consoleOverviewRoutes(app, parts)
  consoleUsersRoutes(app, parts)
  consoleNewUserRoutes(app, parts)
  consoleUserRoutes(app, parts)
  consoleKeysRoutes(app, parts)
  consoleMailRoutes(app, parts)
  consoleMailboxRoutes(app, parts)
  consoleWebhooksRoutes(app, parts)
  consoleAuditRoutes(app, parts)
  consoleStatusRoutes(app, parts)
  consoleSettingsRoutes(app, parts)
}
