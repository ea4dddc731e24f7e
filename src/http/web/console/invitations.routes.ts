import type { Actor } from '../../../model/caller.ts'
import type { Invitation } from '../../../model/invitation.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { askedForm, badge, emptyState, mainCell, splitCard, tableCard } from '../site/elements/cards.ts'
import { actionForm, type Form, formOf } from '../site/elements/fields.ts'
import { shortText } from '../site/elements/format.ts'
import { namePair, PERSON_FIELDS } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Page } from '../site/shell.ts'
import { CONSOLE_TEXTS } from '../texts/texts.ts'
import { ageOf, waitOf } from './format.ts'

const PATH = '/console/users/invite'
const MAX_SHOWN = 50
const InvitationPath = { id: Type.Integer() }
const FIELDS = {
  ...PERSON_FIELDS,
  // The button that was pressed.
  role: { schema: Type.Optional(Type.Enum(['user', 'admin'], { default: 'user' })) },
}

/** Invites people, who choose their own password, and shows who has not accepted yet. */
export function consoleInvitationsRoutes({ get, action }: PageRoutes, { site, invitations }: PageParts): void {
  // The link of an invitation opens an account page.
  if (!site.isEnabled.account) return
  const base = `${site.root}${PATH}`

  async function page(actor: Actor, form: Form<keyof typeof FIELDS>): Promise<Page> {
    const { value: open = [] } = await invitations.list(actor).next()
    return {
      title: 'Invite somebody',
      content: html`${inviteCard(base, form)}\n${list(open)}`,
      back: { path: '/console/users', text: 'Users' },
    }
  }

  get('/users/invite', { handle: ({ actor }) => page(actor, formOf(CONSOLE_TEXTS, FIELDS)) })

  action('/users/invite', {
    asksForPassword: { to: 'invite an admin', when: ({ body }) => body.role === 'admin' },
    fields: FIELDS,
    retry: (form, { actor }) => page(actor, form),
    change: ({ actor, body: { email, first_name: firstName, last_name: lastName, role = 'user' } }) =>
      invitations.create(actor, { email, firstName, lastName }, role),
    to: PATH,
    notice: 'invitation-created',
  })

  action('/users/invite/:id/resend', {
    asksForPassword: false,
    params: InvitationPath,
    change: ({ actor, params }) => invitations.resend(actor, params.id),
    to: PATH,
    notice: 'invitation-resent',
  })

  action('/users/invite/:id/withdraw', {
    asksForPassword: false,
    params: InvitationPath,
    change: ({ actor, params }) => invitations.withdraw(actor, params.id),
    to: PATH,
    notice: 'invitation-withdrawn',
  })

  function list(open: readonly Invitation[]): Html {
    const now = site.now()
    return tableCard({
      title: 'Open invitations',
      heads: ['Invited', 'Role', 'Sent', 'Ends'],
      rows: open.slice(0, MAX_SHOWN).map(({ id, email: to, firstName, lastName, role, createdAt, expiresAt }) => [
        mainCell(shortText(to, 100), shortText(`${firstName} ${lastName}`, 100)),
        role === 'admin' ? badge('', 'Admin') : 'User',
        ageOf(createdAt, now),
        waitOf(expiresAt, now),
        html`<div class="actions">${actionForm(`${base}/${id}/resend`, 'Send again', 'small')}${askedForm({
          action: `${base}/${id}/withdraw`,
          verb: 'Withdraw',
          isSmall: true,
          question: html`Withdraw the invitation of <strong>${to}</strong>? Its link stops working. You can invite them again.`,
        })}</div>`,
      ]),
      actions: 'Actions',
      empty: emptyState('No open invitations', 'Invitations appear here until they are accepted or end.'),
      footer: open.length > MAX_SHOWN ? html`<footer class="hint">Only the first ${MAX_SHOWN} are shown.</footer>` : undefined,
    })
  }
}

function inviteCard(action: string, form: Form<keyof typeof FIELDS>): Html {
  return splitCard({
    id: 'invite',
    title: 'A link by mail',
    text: 'The invited person chooses a password with the link, within seven days. There is no account until then.',
    content: html`<form class="form" method="post" action="${action}">
${form.problem}${form.field('email', { hasFocus: true })}
${namePair(form)}
<div class="actions"><button class="primary">Send invitation</button></div>
<details class="confirm"><summary class="button danger">Invite as admin…</summary>
<div class="form"><p>Invite this person as an admin? They can change and delete every account, also yours.</p><div class="actions"><button class="primary danger" name="role" value="admin">Invite as admin</button></div></div>
</details>
</form>`,
  })
}
