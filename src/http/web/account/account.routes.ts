import type { App } from '../../pipeline/app-type.ts'
import type { PageParts } from '../site/page-routes.ts'
import { accountProfileRoutes } from './profile.routes.ts'

/** The pages of the account, in the order of their navigation. */
export function accountRoutes(app: App, parts: PageParts): void {
  accountProfileRoutes(app, parts)
}
