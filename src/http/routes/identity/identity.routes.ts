import type { Introspection } from '../../../domain/identity/introspection.service.ts'
import { requireIdentity } from '../../../domain/identity/requirements.ts'
import { described, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { CheckQuery, IdentityView, identityHeaders, identityView, toRequirements } from './identity.schemas.ts'
import { IntrospectionBody, IntrospectionView, introspectionView } from './introspection.schemas.ts'

/** For services and proxies that ask who is calling. */
export function identityRoutes(app: App, introspection: Introspection): void {
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

  app.post(
    '/auth/introspect',
    {
      config: { access: 'user', acceptedKeys: 'identify', writes: false },
      schema: {
        operationId: 'introspectCredential',
        summary: 'Ask about a token or an API key',
        description:
          'As in RFC 7662. For a service that received a credential and has its own. It does not count as a use of the credential. ' +
          '`token_type_hint` is accepted and ignored.',
        tags: ['Identity'],
        body: IntrospectionBody,
        response: { 200: described(IntrospectionView, 'What is known about the credential.'), ...refusals(401, 403, 413, 503) },
      },
    },
    async ({ caller, body }) => introspectionView(await introspection.introspect(caller, body.token)),
  )
}
