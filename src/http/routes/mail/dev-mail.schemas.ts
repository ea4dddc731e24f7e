import type { KeptMail } from '../../../model/mail.ts'
import { Email } from '../../validation/fields.ts'
import { type Static, Type } from '../../validation/schema.ts'

export const DevMailQuery = Type.Object({
  to: Type.Optional({ ...Email, description: 'Only the mails to this address. Case does not matter.' }),
  token: Type.String({
    description: 'DEV_MAIL_TOKEN or, where it is not set, the token that the start prints.',
    examples: ['a-token-for-my-tests'],
  }),
})

const DevMailView = Type.Object(
  {
    to: Type.String({ description: 'The address of the recipient.', examples: ['mia@example.com'] }),
    subject: Type.String({ description: 'The subject.', examples: ['Verify your email address for Latchkey'] }),
    text: Type.String({ description: 'The text part.', examples: ['Hello Mia,\n\n…'] }),
    links: Type.Array(Type.String(), {
      description: 'The links in the text part, in their order.',
      examples: [['http://localhost:8000/verify/?code=…']],
    }),
    at: Type.String({ format: 'date-time', description: 'When the mail was sent, in UTC.', examples: ['2026-01-31T09:30:00.000Z'] }),
  },
  { title: 'KeptMail', description: 'A mail that is kept as a file, because no mail server is set.' },
)
export const DevMailsView = Type.Array(DevMailView)

export function devMailsView(mails: readonly KeptMail[]): Static<typeof DevMailsView> {
  return mails.map(({ to, subject, text, links, at }) => ({ to, subject, text, links: [...links], at: new Date(at).toISOString() }))
}
