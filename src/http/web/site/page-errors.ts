import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../../model/refusal.ts'
import type { User } from '../../../model/user.ts'
import { html } from '../../../shared/html.ts'
import type { Answer } from '../../answers/answers.ts'
import { answerError } from '../../answers/errors.ts'
import type { PageArea } from '../../pipeline/declarations.ts'
import type { Texts } from '../texts/texts.ts'
import type { Cookies } from './cookies.ts'
import { type Form, type FormFields, formOf } from './elements/fields.ts'
import { HAND_OFF_QUERY, productOrigin } from './hand-off.ts'
import { messageOf, personalMessage } from './messages.ts'
import { confirmPasswordPage, PasswordRequired } from './recent-password.ts'
import { type Page, SITE_HEADERS, sendSitePage } from './shell.ts'
import { factorPath, type Site, signInPath } from './site.ts'

type ErrorHandler = (error: Error, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** The form of a page, and how it is shown again. */
export type Retry = {
  readonly fields?: FormFields | undefined
  readonly retry?: ((form: Form, request: FastifyRequest) => Page | Promise<Page>) | undefined
}

const ENDED: ReadonlySet<string> = new Set(['token_invalid', 'token_expired'])
const SIGNED_OUT: ReadonlySet<string> = new Set(['not_authenticated', ...ENDED])
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD'])
// What can be corrected in the form.
const RETRIED: ReadonlySet<number> = new Set([400, 401, 422, 429])
/** For a field whose schema names no length, such as one of several words. */
const OTHER_MAX_LENGTH = 100
const SECRET_FIELD = /password|code|passkey/
const ABOUT_PASSWORD: ReadonlySet<string> = new Set(['wrong_credentials', 'invalid_code', 'invalid_passkey', 'too_many_requests'])

/** Turns the errors of a page into pages, with the same statuses as in the API. */
export function pageErrorHandler(site: Site, cookies: Cookies, area: PageArea, { fields = {}, retry }: Retry): ErrorHandler {
  return async (error, request, reply) => {
    const code = error instanceof Refusal ? error.code : ''
    const isSignedOut = SIGNED_OUT.has(code)
    const elsewhere = betterPath(area, code, request)
    if (elsewhere !== undefined) {
      // The browser still has a cookie: its session has expired or was ended.
      if (ENDED.has(code)) cookies.setNotice(reply, 'session-ended')
      return reply.headers(SITE_HEADERS).redirect(site.root + elsewhere, 303)
    }
    const texts = await site.texts.forPage(request)
    const answer = answerError(error, request)
    const { status, headers } = answer
    reply.headers(headers)
    if (isSignedOut) return sendSitePage(reply, site, { area, status, user: undefined }, signedOutPage(site, texts, area))
    const form = retry && RETRIED.has(status) ? formOf(texts, fields, valuesOf(request, fields), answer) : undefined
    const page =
      questionPage(site, cookies, passwordPage(site, error, answer, request), request) ?? (form && (await retry?.(form, request)))
    return sendSitePage(reply, site, { area, status, user: viewerOf(area, request) }, page ?? problemPage(site, area, answer, request))
  }
}

/** The page that lets the caller see the requested one: signing in, or the second factor. A page that works without one leads nowhere. */
function betterPath(area: PageArea, code: string, { method, url, routeOptions }: FastifyRequest): string | undefined {
  if (!READING.has(method)) return undefined
  if (SIGNED_OUT.has(code)) return signInPath(area, url)
  return code === 'second_factor_required' && routeOptions.config.worksWithoutFactor !== true ? factorPath(area, url) : undefined
}

/** Only a caller who may see the area gets its navigation. */
function viewerOf(area: PageArea, { caller }: FastifyRequest): User | undefined {
  return area === 'account' || caller?.user.role === 'admin' ? caller?.user : undefined
}

/** What follows the answer to a question may be a page of the product that waits. */
function questionPage(site: Site, cookies: Cookies, page: Page | undefined, request: FastifyRequest): Page | undefined {
  return page && { ...page, formOrigin: productOrigin(site, cookies.readNext(request)) }
}

/** The question for the password, if the error is that it is missing or wrong. */
function passwordPage(site: Site, error: Error, answer: Answer, request: FastifyRequest): Page | undefined {
  const { passwordQuestion, texts } = request
  if (passwordQuestion === undefined) return undefined
  if (error instanceof PasswordRequired) return confirmPasswordPage(site, request, passwordQuestion, undefined)
  if (!ABOUT_PASSWORD.has(answer.code)) return undefined
  const { confirmation } = texts
  const text = answer.code === 'wrong_credentials' ? confirmation.wrongPassword : personalMessage(texts, answer)
  const message = answer.status === 429 ? text : confirmation.nothingChanged(text)
  return confirmPasswordPage(site, request, passwordQuestion, message)
}

/** The fields as they were sent, without what shows who somebody is. Each is no longer than it may be, so that the page stays small whatever was sent. */
function valuesOf({ body }: FastifyRequest, fields: FormFields): Record<string, string> {
  const given = typeof body === 'object' && body !== null && !Buffer.isBuffer(body) ? (body as Readonly<Record<string, unknown>>) : {}
  const values = Object.entries(fields).flatMap(([name, { schema, isMailed }]) => {
    const { maxLength = OTHER_MAX_LENGTH } = schema as { maxLength?: number }
    const value = given[name]
    return typeof value === 'string' && (isMailed || !SECRET_FIELD.test(name)) ? [[name, beginningOf(value, maxLength)]] : []
  })
  return Object.fromEntries(values)
}

/** The first characters of a text. A character has one or two units. */
function beginningOf(text: string, maxLength: number): string {
  return Array.from(text.slice(0, 2 * maxLength))
    .slice(0, maxLength)
    .join('')
}

function signedOutPage({ root }: Site, { errors, buttons }: Texts, area: PageArea): Page {
  const content = html`<p class="notice bad" role="alert">${errors.sessionEnded}</p>
<p class="actions"><a class="button primary" href="${root}/${area}/sign-in">${buttons.signIn}</a></p>`
  return { title: errors.signedOut, content, isLone: true }
}

/** The title of a page that shows an error. */
function titleOf({ errors, publicErrors }: Texts, status: number): string {
  const titles: Readonly<Record<number, string>> = {
    403: errors.notAllowed,
    404: errors.notFound,
    413: errors.tooMuch,
    422: errors.invalid,
    429: errors.tooMany,
    503: publicErrors.unavailable.title,
  }
  return titles[status] ?? (status >= 500 ? publicErrors.failed.title : errors.refused)
}

function problemPage({ root, isEnabled }: Site, area: PageArea, answer: Answer, request: FastifyRequest): Page {
  const { id, caller, texts } = request
  const { status } = answer
  const { errors, navigation } = texts
  const isOutsider = area === 'console' && status === 403 && caller !== undefined && caller.user.role !== 'admin'
  const message = isOutsider
    ? `The console is for admins. You are signed in as ${caller.user.email}, who is not an admin.`
    : READING.has(request.method)
      ? addressMessage(texts, answer, request)
      : personalMessage(texts, answer)
  const ways = isOutsider
    ? html`${isEnabled.account ? html`<a class="button primary" href="${root}/account/">Go to your account</a>` : ''}<a class="button" href="${root}/console/sign-in">Sign in as an admin</a>`
    : html`<a class="button" href="${root}${answer.code === 'second_factor_required' ? factorPath(area, '') : `/${area}/`}">${area === 'console' ? 'Go to the console' : navigation.toAccount}</a>`
  const requestId = status >= 500 ? html`\n<p class="hint">${errors.requestId(id)}</p>` : undefined
  const content = html`<div class="message"><p class="notice bad" role="alert">${message}</p>\n<p class="actions">${ways}</p>${requestId}</div>`
  return { title: titleOf(texts, status), content }
}

/** The message of an answer to a request without a form, which is invalid because of its address. */
export function addressMessage(texts: Texts, answer: Answer, { id, routeOptions, logger }: FastifyRequest): string {
  if (answer.status !== 422) return personalMessage(texts, answer)
  const [issue] = typeof answer.detail === 'string' ? [] : answer.detail
  if (!(String(issue?.loc[1]) in HAND_OFF_QUERY)) return texts.errors.badAddress
  // Written by a product. Its developer finds in the log what has to be corrected.
  logger.info({ requestId: id, route: routeOptions.url, reason: messageOf(answer) }, 'the link of a product is not valid')
  return texts.errors.badLink
}
