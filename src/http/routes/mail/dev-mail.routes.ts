import type { KeptMails } from '../../../model/mail.ts'
import { described, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { DevMailQuery, DevMailsView, devMailsView } from './dev-mail.schemas.ts'

export type DevMail = { readonly mails: KeptMails; readonly token: string }

/** `devMail` is undefined unless the service runs for development: on a loopback address and without a mail server. */
export function devMailRoutes(app: App, devMail: DevMail | undefined): void {
  app.get(
    '/dev/mail',
    {
      config: { access: 'public', writes: false, isDisabled: devMail === undefined, isLocal: true, queryToken: devMail?.token },
      schema: {
        operationId: 'devMail',
        summary: 'Read the mails that were kept as files',
        description:
          'For end-to-end tests during development: the newest 100 mails, newest first. Available while HOST and BASE_URL are loopback addresses and SMTP_URL is not set, to programs on the same machine that use a loopback name in the URL and have the token that the start prints.',
        tags: ['Service'],
        querystring: DevMailQuery,
        response: { 200: described(DevMailsView, 'The mails, newest first.'), ...refusals(404) },
      },
    },
    async (request) => devMailsView((await devMail?.mails.list(request.query.to)) ?? []),
  )
}
