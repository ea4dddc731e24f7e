import type { FastifyRequest } from 'fastify'
import { isConfirmed } from '../../../domain/changes/callers.ts'
import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { Confirmation, Login } from '../../../domain/sign-in/login.service.ts'
import type { Providers } from '../../../domain/sign-in/providers.service.ts'
import type { SecondFactor } from '../../../domain/sign-in/second-factor.service.ts'
import type { Factors } from '../../../model/factor.ts'
import type { Provider } from '../../../model/provider.ts'
import { Refusal } from '../../../model/refusal.ts'
import { type Html, html } from '../../../shared/html.ts'
import type { Hook, PageArea, PasswordQuestion } from '../../pipeline/declarations.ts'
import { GivenPassword, type Static, Type } from '../../validation/schema.ts'
import { labelText, type Texts } from '../texts/texts.ts'
import { CODE, credentialOf, PASSKEY, passkeyButton } from './elements/factors.ts'
import { actionForm, formProblem, inputField, shownField } from './elements/fields.ts'
import { queryText } from './elements/paging.ts'
import { providerButtons } from './elements/providers.ts'
import type { Page } from './shell.ts'
import type { Site } from './site.ts'

/** A question, and what the account may answer it with. */
type AskedQuestion = PasswordQuestion & {
  readonly factors: Pick<Factors, 'hasPassword' | 'totp' | 'passkeys'>
  /** A new sign-in with one of them confirms too. */
  readonly providers: readonly Provider[]
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The question that the caller has to answer first. Undefined if there is none, or once it was answered. */
    passwordQuestion?: AskedQuestion | undefined
  }
}

/** Takes the answer to the question of a page that is only read, and leads back to it. */
export const CONFIRM_PATH = '/confirm'

/** The fields that answer the question, in every form that asks it. No other field has these names. */
export const ANSWER_FIELDS = { password: Type.Optional(GivenPassword), confirm_code: CODE.schema, confirm_passkey: PASSKEY.schema } as const
type Answers = { readonly [Name in keyof typeof ANSWER_FIELDS]?: Static<(typeof ANSWER_FIELDS)[Name]> }

/** The caller has shown too long ago who they are. */
export class PasswordRequired extends Refusal {
  constructor() {
    super('not_permitted', 'the password was given over ten minutes ago')
  }
}

type RecentPasswordParts = {
  readonly site: Site
  readonly login: Login
  readonly pageLimiter: Limiter
  readonly secondFactor: Pick<SecondFactor, 'status'>
  readonly passkeys: unknown
  readonly providers: Pick<Providers, 'usable'>
}

/**
 * Lets a request pass if its session was opened or confirmed in the last ten minutes. Otherwise the answer is the same form with a field
 * for the password, and the right password lets it pass, or a code or a passkey of the account. Attempts count like those of signing in.
 */
export function createRecentPassword({ site, login, pageLimiter, secondFactor, passkeys, providers }: RecentPasswordParts): Hook {
  return async (request) => {
    const { asksForPassword } = request.routeOptions.config
    const isRecent = isConfirmed(request.caller, site.now())
    if (typeof asksForPassword !== 'object' || isRecent || !((await asksForPassword.when?.(request)) ?? true)) return
    const { id } = request.caller.user
    const { hasPassword, totp, passkeys: count } = await secondFactor.status(id)
    request.passwordQuestion = {
      ...asksForPassword,
      factors: { hasPassword, totp, passkeys: passkeys === undefined ? 0 : count },
      providers: await providers.usable(id),
    }
    const confirmation = confirmationOf((request.body ?? {}) as Answers)
    if (confirmation === undefined) throw new PasswordRequired()
    await login.confirm(request.actor, confirmation, pageLimiter)
    const hasFactor = request.caller.secondFactor || !('password' in confirmation)
    request.caller = { ...request.caller, confirmedAt: site.now(), secondFactor: hasFactor }
    request.passwordQuestion = undefined
  }
}

function confirmationOf({ password, confirm_code: code = '', confirm_passkey: passkey = '' }: Answers): Confirmation | undefined {
  if (passkey !== '') return { passkey: credentialOf(passkey) }
  if (code !== '') return { code }
  // An empty field is no answer: it counts as no attempt.
  return password === undefined || password === '' ? undefined : { password }
}

/** Repeats the form that was sent, with the fields that answer the question. For a page that is only read, the form leads to it. */
export function confirmPasswordPage(
  { root }: Site,
  request: FastifyRequest,
  { to, cancel, factors: { hasPassword, totp, passkeys }, providers }: AskedQuestion,
  problem: string | undefined,
): Page {
  const { texts } = request
  const { buttons, confirmation } = texts
  const { isDownload, page } = request.routeOptions.config
  const [path = ''] = request.url.split('?')
  const place = queryText(declaredQuery(request))
  const isForm = request.method === 'POST'
  const fields = isForm ? ((request.body ?? {}) as Record<string, unknown>) : { next: `${path}${place}` }
  const action = isForm ? `${path}${place}` : `/${page}${CONFIRM_PATH}`
  const hidden = Object.entries(fields).filter(([name]) => !(name in ANSWER_FIELDS))
  const isTyped = hasPassword || totp
  const back = `${cancel ?? parentOf(path)}${place}`
  const again = providerButtons(texts, root, providers, { next: isForm ? back : `${path}${place}` })
  const content = html`${formProblem(problem)}<p>${explanation(texts, { hasPassword, totp, passkeys }, labelText(to, texts), isForm)}</p>
<form class="form" method="post" action="${root}${action}"${isDownload ? html` data-download` : ''}>
${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">`)}
${typedFields(texts, { hasPassword, totp })}
<div class="actions">${isTyped ? html`<button class="primary">${buttons.confirm}</button>` : undefined}<a class="button" href="${root}${back}">${buttons.cancel}</a></div>
${passkeys > 0 ? passkeyButton({ root, text: buttons.usePasskey, name: 'confirm_passkey' }) : undefined}
</form>${again}${hasPassword || providers.length > 0 ? undefined : signOutForm(texts, root, page)}`
  const title = hasPassword && !totp && passkeys === 0 ? confirmation.passwordTitle : confirmation.title
  return { title, content, isLone: true }
}

function typedFields(texts: Texts, { hasPassword, totp }: Pick<AskedQuestion['factors'], 'hasPassword' | 'totp'>): Html {
  const password = {
    name: 'password',
    label: totp ? texts.fields.orPassword : texts.fields.password,
    type: 'password',
    autocomplete: 'current-password',
    hasFocus: !totp,
    isOptional: totp,
  } as const
  return html`${totp ? inputField({ ...shownField(texts, CODE), name: 'confirm_code', isOptional: true, hasFocus: true }) : undefined}
${hasPassword ? inputField(password) : undefined}`
}

/** Why the page asks, and what answers it. */
function explanation(
  { confirmation }: Texts,
  { hasPassword, totp, passkeys }: AskedQuestion['factors'],
  to: string,
  isForm: boolean,
): string {
  const hasPasskey = passkeys > 0
  if (hasPassword && totp) return hasPasskey ? confirmation.byAll(to) : confirmation.byPasswordOrCode(to)
  if (hasPassword) return hasPasskey ? confirmation.byPasswordOrPasskey(to) : confirmation.byPassword(to)
  const typed = totp ? confirmation.byCode : confirmation.bySignIn
  const tapped = totp ? confirmation.byCodeOrPasskey : confirmation.byPasskey
  const text = (hasPasskey ? tapped : typed)(to)
  return isForm ? confirmation.repeat(text) : text
}

/** For an account that is opened by mail only. */
function signOutForm({ buttons }: Texts, root: string, area: PageArea = 'account'): Html {
  return html`\n${actionForm(`${root}/${area}/sign-out`, buttons.signOutToSignIn)}`
}

/** The parsed query; nothing of a query that the route does not declare. */
function declaredQuery({ routeOptions, query }: FastifyRequest): Readonly<Record<string, string | number | undefined>> {
  return routeOptions.schema?.querystring === undefined ? {} : (query as Readonly<Record<string, string | number | undefined>>)
}

/** An action is one segment below the page that has its button. */
function parentOf(path: string): string {
  return path.replace(/\/[^/]*$/, '') || '/'
}
