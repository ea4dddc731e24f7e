import type { FastifyRequest } from 'fastify'
import type { Limiter } from '../../../domain/limits/rate-limits.service.ts'
import type { Sessions } from '../../../domain/sessions/sessions.service.ts'
import { Refusal } from '../../../model/refusal.ts'
import { html } from '../../../shared/html.ts'
import type { PasswordQuestion } from '../../pipeline/declarations.ts'
import type { Hook } from '../../pipeline/steps.ts'
import type { Cookies } from './cookies.ts'
import { formProblem, inputField } from './elements/fields.ts'
import { queryText } from './elements/paging.ts'
import type { Page } from './shell.ts'
import type { Site } from './site.ts'

export const RECENT_MS = 10 * 60_000

/** The password was given too long ago for this action. */
export class PasswordRequired extends Refusal {
  constructor() {
    super('not_permitted', 'the password was given over ten minutes ago')
  }
}

export type RecentPasswordParts = {
  readonly site: Pick<Site, 'now'>
  readonly sessions: Pick<Sessions, 'confirmPassword'>
  readonly limiter: Limiter
  readonly cookies: Cookies
}

/**
 * Lets a form pass if the password was given in the last ten minutes. Otherwise the answer is the same form with a field for the password,
 * and the right password lets it pass. Attempts count like those of signing in.
 */
export function createRecentPassword({ site, sessions, limiter, cookies }: RecentPasswordParts): Hook {
  return async (request, reply) => {
    if (!needsPassword(site, request)) return
    const { password } = request.body as { password?: string }
    if (password === undefined) throw new PasswordRequired()
    const { user } = request.caller
    const token = await limiter.attempt(user.email, request.origin, () => sessions.confirmPassword(request.actor, password))
    cookies.setSession(reply, token)
    request.passwordAt = site.now()
  }
}

/** Whether the form asks the caller for the password before anything else happens. */
export function needsPassword({ now }: Pick<Site, 'now'>, { routeOptions, caller, passwordAt }: FastifyRequest): boolean {
  const { recentPassword } = routeOptions.config
  if (recentPassword === undefined || (recentPassword.isForAdmins && caller.user.role !== 'admin')) return false
  // Also if it is not known when the password was given.
  return !(now() - passwordAt < RECENT_MS)
}

/** Repeats the form that was sent, with a field for the password. */
export function confirmPasswordPage(
  { root }: Site,
  request: FastifyRequest,
  { to, cancel }: PasswordQuestion,
  problem: string | undefined,
): Page {
  const [path = ''] = request.url.split('?')
  const place = queryText(declaredQuery(request))
  const fields = Object.entries((request.body ?? {}) as Record<string, unknown>).filter(([name]) => name !== 'password')
  const content = html`${formProblem({ fields: {}, message: problem })}<p>You entered your password more than ten minutes ago. Enter it again to ${to}.</p>
<form class="form" method="post" action="${root}${path}${place}"${request.routeOptions.config.isDownload ? html` data-download` : ''}>
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">`)}
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
