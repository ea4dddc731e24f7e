import { requireIdentity } from '../../../domain/identity/requirements.ts'
import { described, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { CheckQuery, IdentityView, identityHeaders, identityView, toRequirements } from './identity.schemas.ts'

/** For services and proxies that ask who is calling. */
export function identityRoutes(app: App): void {
  app.get(
    '/auth/check',
    {
      config: { access: 'user', acceptedKeys: 'identify', writes: false, skipsDeadline: true },
      schema: {
        operationId: 'checkIdentity',
        summary: 'Check who is calling',
        description:
          'For a service that received a credential, and for forward authentication by a proxy. The response also has the headers ' +
          '`LatchkeyUser`, `LatchkeyEmail`, `LatchkeyRole`, `LatchkeyMethod`, `LatchkeyScopes` and `LatchkeyKey`. A body is ignored.',
        tags: ['Identity'],
        querystring: CheckQuery,
        response: { 200: described(IdentityView, 'Who is calling.'), ...refusals(401, 403, 503) },
      },
    },
    async ({ caller, query }, reply) => {
      requireIdentity(caller, toRequirements(query))
      reply.headers(identityHeaders(caller))
      return identityView(caller)
    },
  )
}
