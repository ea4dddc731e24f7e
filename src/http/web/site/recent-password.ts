import type { FastifyRequest } from 'fastify'
import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import { CONFIRMED_FOR_MS, type Login } from '../../../domain/sign-in/login.service.ts'
import { Refusal } from '../../../model/refusal.ts'
import { html } from '../../../shared/html.ts'
import type { Hook, PasswordQuestion } from '../../pipeline/declarations.ts'
import { formProblem, inputField } from './elements/fields.ts'
import { queryText } from './elements/paging.ts'
import type { Page } from './shell.ts'
import type { Site } from './site.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The question that the caller has to answer first. Undefined if there is none, or once it was answered. */
    passwordQuestion?: PasswordQuestion | undefined
  }
}

/** Takes the answer to the question of a page that is only read, and leads back to it. */
export const CONFIRM_PATH = '/confirm'

/** The password was given too long ago for this action. */
export class PasswordRequired extends Refusal {
  constructor() {
    super('not_permitted', 'the password was given over ten minutes ago')
  }
}

type RecentPasswordParts = { readonly site: Site; readonly login: Login; readonly pageLimiter: Limiter }

/**
 * Lets a request pass if the password was given in the last ten minutes. Otherwise the answer is the same form with a field for the password,
 * and the right password lets it pass. Attempts count like those of signing in.
 */
export function createRecentPassword({ site, login, pageLimiter }: RecentPasswordParts): Hook {
  return async (request) => {
    const { asksForPassword } = request.routeOptions.config
    const isRecent = site.now() - (request.caller.confirmedAt ?? 0) < CONFIRMED_FOR_MS
    if (typeof asksForPassword !== 'object' || isRecent || !((await asksForPassword.when?.(request)) ?? true)) return
    request.passwordQuestion = asksForPassword
    const { password } = (request.body ?? {}) as { password?: string }
    if (password === undefined) throw new PasswordRequired()
    await login.confirm(request.actor, { password }, pageLimiter)
    request.caller = { ...request.caller, confirmedAt: site.now() }
    request.passwordQuestion = undefined
  }
}

/** Repeats the form that was sent, with a field for the password. For a page that is only read, the form leads to it. */
export function confirmPasswordPage(
  { root }: Site,
  request: FastifyRequest,
  { to, cancel }: PasswordQuestion,
  problem: string | undefined,
): Page {
  const { isDownload, page } = request.routeOptions.config
  const [path = ''] = request.url.split('?')
  const place = queryText(declaredQuery(request))
  const isForm = request.method === 'POST'
  const fields = isForm ? ((request.body ?? {}) as Record<string, unknown>) : { next: `${path}${place}` }
  const action = isForm ? `${path}${place}` : `/${page}${CONFIRM_PATH}`
  const hidden = Object.entries(fields).filter(([name]) => name !== 'password')
  const content = html`${formProblem(problem)}<p>You entered your password more than ten minutes ago. Enter it again to ${to}.</p>
<form class="form" method="post" action="${root}${action}"${isDownload ? html` data-download` : ''}>
${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">`)}
${inputField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', hasFocus: true })}
<div class="actions"><button class="primary">Confirm</button><a class="button" href="${root}${cancel ?? parentOf(path)}${place}">Cancel</a></div>
</form>`
  return { title: 'Confirm your password', content, isLone: true }
}

/** The parsed query; nothing of a query that the route does not declare. */
function declaredQuery({ routeOptions, query }: FastifyRequest): Readonly<Record<string, string | number | undefined>> {
  return routeOptions.schema?.querystring === undefined ? {} : (query as Readonly<Record<string, string | number | undefined>>)
}

/** An action is one segment below the page that has its button. */
function parentOf(path: string): string {
  return path.replace(/\/[^/]*$/, '') || '/'
}
