import type { App } from '../../pipeline/declarations.ts'
import type { PageParts } from '../site/page-routes.ts'
import { type ConsoleAuditParts, consoleAuditRoutes } from './audit.routes.ts'
import { type ConsoleKeysParts, consoleKeysRoutes } from './keys.routes.ts'
import { type ConsoleMailParts, consoleMailboxRoutes, consoleMailRoutes } from './mail.routes.ts'
import { consoleOverviewRoutes, type OverviewParts } from './overview.routes.ts'
import { type ConsoleSettingsParts, consoleSettingsRoutes } from './settings.routes.ts'
import { type ConsoleStatusParts, consoleStatusRoutes } from './status.routes.ts'
import { type ConsoleUserParts, consoleUserRoutes } from './user.routes.ts'
import { type ConsoleUsersParts, consoleNewUserRoutes, consoleUsersRoutes, type NewUserParts } from './users.routes.ts'
import { type ConsoleWebhooksParts, consoleWebhooksRoutes } from './webhooks.routes.ts'

export type ConsoleParts = OverviewParts &
  ConsoleUsersParts &
  NewUserParts &
  ConsoleUserParts &
  ConsoleKeysParts &
  ConsoleMailParts &
  ConsoleWebhooksParts &
  ConsoleAuditParts &
  ConsoleStatusParts &
  ConsoleSettingsParts

/** What the pages show that no service provides. */
export type ConsoleViews = Pick<ConsoleParts, 'examine' | 'settings' | 'keptMails' | 'activity'>

/** The services that the pages call: the same rules as those of the API. */
export type ConsoleServices = Omit<ConsoleParts, keyof PageParts | keyof ConsoleViews>

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
