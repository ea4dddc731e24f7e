import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { HandOffs } from '../../../domain/sign-in/hand-off.service.ts'
import { described } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Type, text } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { TokenPairView } from './sign-in.routes.ts'

const ExchangeBody = Type.Object(
  {
    code: text('The `code` with which the account pages led back to the product.', 'Y29kZQ', { maxLength: 200 }),
    code_verifier: text('What `code_challenge` is the SHA-256 of, in base64url (RFC 7636).', 'dmVyaWZpZXI', { maxLength: 200 }),
  },
  { title: 'Exchange', description: 'A code of the account pages, and the verifier of its challenge.' },
)

type Parts = { readonly handOffs: HandOffs; readonly limiter: Limiter }

/** The product takes over somebody who has signed in on the account pages. Without these pages, the path answers 404. */
export function handOffRoutes(app: App, { handOffs, limiter }: Parts, { isDisabled }: { readonly isDisabled: boolean }): void {
  createApiRoutes(app, 'Accounts').post('/login/exchange', {
    config: { access: 'public', writes: true, limits: { ip: 'login:ip' }, isDisabled },
    operationId: 'exchangeCode',
    summary: 'Exchange a code of the account pages',
    description:
      'Starts a session for the person who has signed in at `/account/sign-in?return_to=…&code_challenge=…&state=…`. The code works once, within ' +
      '60 seconds. A wrong verifier ends it, and a second use also ends the session that the first one has opened.',
    body: ExchangeBody,
    response: { 200: described(TokenPairView, 'The tokens of a new session.'), refuses: ['code_refused'] },
    handle: ({ origin, places, body }) => limiter.settle(places, origin, () => handOffs.exchange(origin, body.code, body.code_verifier)),
  })
}
