import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { SelfDeletion } from '../../../domain/sign-in/self-deletion.service.ts'
import { Empty, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { OwnPasswordBody } from './user.schemas.ts'

export function selfDeletionRoutes(app: App, selfDeletion: SelfDeletion, limiter: Limiter): void {
  app.delete(
    '/users/me',
    {
      // Older versions did not limit the number of keys, so a user may own very many.
      config: { access: 'user', acceptedKeys: 'full', writes: true, deadlineMs: 25_000 },
      schema: {
        operationId: 'deleteOwnAccount',
        summary: 'Delete your own account',
        description:
          'Deletes the account and its API keys permanently. It exists where SELF_DELETION is set. The last admin cannot leave. A wrong password counts like a failed login.',
        tags: ['Users'],
        body: OwnPasswordBody,
        response: { 204: Empty, ...refusals('wrong_credentials', 'last_admin', 401, 403, 413, 429, 503) },
      },
    },
    async ({ actor, body }, reply) => {
      await selfDeletion.remove(actor, body.password, limiter)
      return reply.code(204).send()
    },
  )
}
