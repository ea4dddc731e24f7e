import type { KeptMail, KeptMails } from '../../../model/mail.ts'
import { described } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Email, type Static, Type, text, timestamp } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'

const DevMailQuery = Type.Object({
  to: Type.Optional({ ...Email, description: 'Only the mails to this address. Case does not matter.' }),
  token: text('DEV_MAIL_TOKEN or, where it is not set, the token that the start prints.', 'a-token-for-my-tests'),
})

const DevMailView = Type.Object(
  {
    to: text('The address of the recipient.', 'mia@example.com'),
    subject: text('The subject.', 'Verify your email address for Latchkey'),
    text: text('The text part.', 'Hello Mia,\n\n…'),
    links: Type.Array(Type.String(), {
      description: 'The links in the text part, in their order.',
      examples: [['http://localhost:8000/verify/?code=…']],
    }),
    at: timestamp('When the mail was sent, in UTC.'),
  },
  { title: 'KeptMail', description: 'A mail that is kept as a file, because no mail server is set.' },
)
const DevMailsView = Type.Array(DevMailView)

function devMailsView(mails: readonly KeptMail[]): Static<typeof DevMailsView> {
  return mails.map(({ to, subject, text, links, at }) => ({ to, subject, text, links: [...links], at: new Date(at).toISOString() }))
}

type DevMail = { readonly mails: KeptMails; readonly token: string }

/** `devMail` is undefined unless the service runs for development: on a loopback address and without a mail server. */
export function devMailRoutes(app: App, devMail: DevMail | undefined): void {
  const api = createApiRoutes(app, 'Service')
  api.get('/dev/mail', 'devMail', {
    config: {
      access: 'public',
      writes: false,
      isStatic: true,
      isDisabled: devMail === undefined,
      isLocal: true,
      queryToken: devMail?.token,
    },
    summary: 'Read the mails that were kept as files',
    description:
      'For end-to-end tests during development: the newest 100 mails, newest first. Available while HOST and BASE_URL are loopback addresses and SMTP_URL is not set, to programs on the same machine that use a loopback name in the URL and have the token that the start prints.',
    querystring: DevMailQuery,
    response: { 200: described(DevMailsView, 'The mails, newest first.') },
    handle: async (request) => devMailsView((await devMail?.mails.list(request.query.to)) ?? []),
  })
}
