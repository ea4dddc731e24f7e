import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../../model/refusal.ts'
import { html } from '../../../shared/html.ts'
import { addressWithCode, HAND_OFF_QUERY, parseHandOff, ReturnTo, returnAddress } from '../site/hand-off.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'

/** Where the pages lead to the product: with a code after signing in, and after signing out. */
export function accountHandOffRoutes({ get }: PageRoutes, { site, cookies, authentication, handOffs }: PageParts): void {
  // The one place that issues codes. Without a session, or without a second factor where one is required, it leads there and back.
  get('/hand-off', {
    writes: true,
    query: HAND_OFF_QUERY,
    async handle({ query, actor, request }, reply) {
      const handOff = parseHandOff(site, query)
      if (handOff === undefined) return { to: '/account/' }
      const code = await handOffs.issue(actor, handOff.codeChallenge)
      cookies.forgetNext(request, reply)
      return { away: addressWithCode(handOff, code) }
    },
  })

  get('/sign-out', {
    access: 'public',
    query: { return_to: ReturnTo },
    async handle({ query, request, texts: { buttons, signOut } }) {
      const away = query.return_to === undefined ? undefined : returnAddress(site, query.return_to)
      if (!(await isSignedIn(request))) return away === undefined ? { to: '/account/sign-in' } : { away }
      const content = html`<form class="form" method="post" action="${site.root}/account/sign-out">
${away && html`<input type="hidden" name="return_to" value="${away}">\n`}<button class="primary">${buttons.signOut}</button>
</form>
<p class="ways"><a href="${site.root}/account/">${signOut.stay}</a></p>`
      return { title: signOut.title, content, isLone: true, formOrigin: away && new URL(away).origin }
    },
  })

  async function isSignedIn(request: FastifyRequest): Promise<boolean> {
    const token = cookies.readSession(request)
    if (token === undefined) return false
    try {
      await authentication.byPageToken(token)
      return true
    } catch (error) {
      if (error instanceof Refusal && error.code !== 'unavailable') return false
      throw error
    }
  }
}
