import type { FastifyReply } from 'fastify'
import type { LoginResult } from '../../../domain/sign-in/login.service.ts'
import { ANSWERS } from '../../answers/answers.ts'
import { refusals } from '../../answers/replies.ts'
import { Type, text } from '../../validation/schema.ts'

const { status, headers, detail } = ANSWERS.second_step

/** The response to a login that is refused with 401. If it needs a second step, it also has what that needs. */
export const SECOND_STEP = {
  401: {
    ...refusals('login_banned', 'login_unverified', 'second_step')[401],
    ...Type.Object(
      {
        detail: text('What went wrong, for people.', detail),
        challenge: Type.Optional(text('For `POST /login/second-factor`, within five minutes.', 'b3BhcXVl')),
        methods: Type.Optional(
          Type.Array(Type.Enum(['totp', 'recovery_code', 'passkey'], { type: 'string' }), {
            description: 'What the second step accepts.',
            examples: [['totp', 'recovery_code']],
          }),
        ),
      },
      { title: 'LoginRefused', description: 'With `second_factor_required`, it also has what the second step needs.' },
    ),
  },
}

export function sendSecondStep(
  reply: FastifyReply,
  { challenge, methods }: Extract<LoginResult<unknown>, { kind: 'second step' }>,
): FastifyReply {
  return reply.code(status).headers(headers).header('www-authenticate', 'Bearer').send({ detail, challenge, methods })
}
