import { html } from '../../../shared/html.ts'
import type { App } from '../../pipeline/app-type.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'

/** The profile of the caller. */
export function accountProfileRoutes(app: App, parts: PageParts): void {
  const { get } = createPageRoutes(app, parts, 'account')

  get('/', {}, ({ actor }) => {
    const { email, firstName, lastName } = actor.caller.user
    const content = html`<section class="card" aria-label="Profile"><dl class="facts">
<dt>Email</dt><dd>${email}</dd>
<dt>Name</dt><dd>${firstName} ${lastName}</dd>
</dl></section>`
    return { title: 'Profile', content }
  })
}
