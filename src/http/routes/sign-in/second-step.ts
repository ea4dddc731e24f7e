import type { FastifyReply } from 'fastify'
import type { LoginResult } from '../../../domain/sign-in/login.service.ts'
import { ANSWERS } from '../../answers/answers.ts'
import { refusals } from '../../answers/replies.ts'
import { Type, text } from '../../validation/schema.ts'

const { status, headers, detail } = ANSWERS.second_step

const View = Type.Object(
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
)

/** The response to a login that is refused with 401, for one of these reasons. If it needs a second step, it also has what that needs. */
export function refusedLogin(...codes: readonly ('login_banned' | 'login_unverified' | 'code_refused' | 'second_step')[]) {
  return { 401: { ...refusals(...codes)[401], ...View } }
}

export function sendSecondStep(
  reply: FastifyReply,
  { challenge, methods }: Extract<LoginResult<unknown>, { kind: 'second step' }>,
): FastifyReply {
  return reply.code(status).headers(headers).header('www-authenticate', 'Bearer').send({ detail, challenge, methods })
}
