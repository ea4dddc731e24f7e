import { type Html, html } from '../../../shared/html.ts'
import { credentialOf, newPasskeyButton, PASSKEY } from '../site/elements/factors.ts'
import { type Form, formOf, formProblem } from '../site/elements/fields.ts'
import { NEW_ACCOUNT_FIELDS } from '../site/new-account.ts'
import type { PageParts, PageRoutes } from '../site/page-parts.ts'
import type { Texts } from '../texts/texts.ts'
import { MAILED_CODE } from './email-sign-in.routes.ts'

const PATH = '/invitation'
const PASSKEY_PATH = `${PATH}/passkey`
const FIELDS = { code: MAILED_CODE, password: NEW_ACCOUNT_FIELDS.password } as const
const PAGE = { isLone: true, hasSecretAddress: true } as const
const OPEN = { access: 'public', asksForPassword: false, limits: { ip: 'login:ip' } } as const
const ACCEPTED = { to: '/account/', notice: 'invitation-accepted' } as const

/** The link of an invitation: the invited person sets a password or creates a passkey, and is signed in. */
export function accountInvitationRoutes({ form, get, post }: PageRoutes, parts: PageParts): void {
  const { site, cookies, invitations, invitationAcceptance, pageLimiter, passkeys } = parts
  const { root } = site
  const closed = ({ refusals, invitation, buttons }: Texts) => html`${formProblem(refusals.invitation_not_found)}<p>${invitation.closed}</p>
<div class="actions"><a class="button" href="${root}/account/sign-in">${buttons.signIn}</a></div>`

  async function show({ problem, values, field }: Form<keyof typeof FIELDS>, texts: Texts): Promise<Html> {
    const invitation = await invitations.find(values['code'] ?? '')
    if (invitation === undefined) return closed(texts)
    const { email, firstName } = invitation
    const code = html`<input type="hidden" name="code" value="${values['code']}">`
    const options = invitationAcceptance.passkeyOptions(invitation)
    const byPasskey = html`\n<form class="form" method="post" action="${root}/account${PASSKEY_PATH}">${code}
${newPasskeyButton({ text: texts.invitation.passkey, name: 'passkey', options })}</form>`
    return html`${problem}<p>${texts.invitation.welcome(firstName, email)}</p>
<form class="form" method="post" action="${root}/account${PATH}">
${code}
<input type="hidden" name="username" autocomplete="username" value="${email}">
${field('password', { hasFocus: true })}
<button class="primary">${texts.buttons.createAccount}</button>
</form>${options && byPasskey}`
  }

  form(PATH, {
    ...PAGE,
    ...OPEN,
    title: ({ invitation }) => invitation.title,
    query: { code: MAILED_CODE.schema },
    fields: FIELDS,
    show: (shown, { texts }) => show(shown, texts),
    async submit({ body, request: { origin, places } }, reply) {
      const accept = () => invitationAcceptance.accept(origin, body.code ?? '', { password: body.password })
      cookies.setSession(reply, await pageLimiter.settle(places, origin, accept))
      return ACCEPTED
    },
  })

  if (passkeys === undefined) return
  // A page that is loaded again after a refusal.
  get(PASSKEY_PATH, { access: 'public', handle: () => ({ to: '/account/sign-in' }) })
  post(PASSKEY_PATH, {
    ...OPEN,
    fields: { code: MAILED_CODE, passkey: PASSKEY },
    retry: async ({ problem, values }, { texts }) => ({
      ...PAGE,
      title: texts.invitation.title,
      content: await show({ ...formOf(texts, FIELDS, values), problem }, texts),
    }),
    async handle({ body, request: { origin, places } }, reply) {
      const accept = () => invitationAcceptance.accept(origin, body.code ?? '', { passkey: credentialOf(body.passkey ?? '') })
      cookies.setSession(reply, await pageLimiter.settle(places, origin, accept))
      return ACCEPTED
    },
  })
}
