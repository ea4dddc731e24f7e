import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../../../model/caller.ts'
import { REFUSALS, type RefusalCode } from '../../../model/refusal.ts'
import { renderHtml } from '../../../shared/html.ts'
import { HtmlView, refusals } from '../../answers/replies.ts'
import type { Access, App, AsksForPassword, PageArea } from '../../pipeline/declarations.ts'
import { GivenPassword, type Static, type TSchema, Type } from '../../validation/schema.ts'
import type { Cookies } from './cookies.ts'
import type { Problems } from './elements/fields.ts'
import type { Notice } from './messages.ts'
import { type PageErrors, retryOf } from './page-errors.ts'
import { type Page, renderPage, SECRET_ADDRESS_HEADERS, SITE_HEADERS } from './shell.ts'
import type { Site } from './site.ts'

/** Leads to another page, which shows the notice. */
export type Redirect = { readonly to: string; readonly notice?: Notice | undefined }

/** A response that is neither a page nor a redirect, such as a download: the handler has sent it. */
type Sent = { readonly isSent: true }

type Fields = Readonly<Record<string, TSchema>>
type Values<Declared extends Fields> = { readonly [Name in keyof Declared]: Static<Declared[Name]> }

type PageInput<Params extends Fields, Query extends Fields, Body extends Fields> = {
  readonly params: Values<Params>
  readonly query: Values<Query>
  readonly body: Values<Body>
  /** The caller and the origin. On pages that are not public. */
  readonly actor: Actor
  readonly request: FastifyRequest
}

export type PageRequest<Params extends Fields, Query extends Fields, Body extends Fields> = PageInput<Params, Query, Body> & {
  readonly reply: FastifyReply
}

type PageOptions<Params extends Fields, Query extends Fields, Body extends Fields> = {
  /** Admins in the console and every user in the account pages, unless this says something else. */
  readonly access?: 'public' | 'user'
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  /** Only for browsers on this machine; for others the page does not exist. */
  readonly isLocal?: boolean
  /** What `token` in the query has to be; for others the page does not exist. */
  readonly queryToken?: string
  /** False for a form that only reads. */
  readonly writes?: boolean
  readonly asksForPassword?: AsksForPassword<PageInput<Params, Query, Body>>
  /** The response is a file, so that the page with the form stays and its button can be pressed again. */
  readonly isDownload?: boolean
  /** For a page that may take longer than others. */
  readonly deadlineMs?: number
  readonly limits?: { readonly ip: 'login:ip'; readonly account?: 'login:account' }
  /** Shows the form again, with what is wrong. `values` are the fields as they were sent, without passwords. */
  readonly retry?: (problems: Problems, values: Readonly<Record<string, string>>, request: FastifyRequest) => Page | Promise<Page>
  /** The names of the fields, for messages. */
  readonly labels?: Readonly<Record<string, string>>
}

type Handle<Params extends Fields, Query extends Fields, Body extends Fields> = (
  input: PageRequest<Params, Query, Body>,
) => Promise<Page | Redirect | Sent> | Page | Redirect

type AddPage = <Params extends Fields = Fields, Query extends Fields = Fields, Body extends Fields = Fields>(
  path: string,
  options: PageOptions<Params, Query, Body>,
  handle: Handle<Params, Query, Body>,
) => void

type AddForm = <Params extends Fields = Fields, Query extends Fields = Fields, Body extends Fields = Fields>(
  path: string,
  options: PageOptions<Params, Query, Body> & { readonly asksForPassword: AsksForPassword<PageInput<Params, Query, Body>> },
  handle: Handle<Params, Query, Body>,
) => void

type PageRoutes = { readonly get: AddPage; readonly post: AddForm }

export type PageParts = { readonly site: Site; readonly cookies: Cookies; readonly errors: PageErrors }

const FORM = 'application/x-www-form-urlencoded'

/** Every status and code of a page. Pages are not part of the API, so they are declared once for all. */
const RESPONSES = {
  200: HtmlView,
  303: HtmlView,
  // Object.keys returns string[]; these are the keys of this object.
  ...refusals(...(Object.keys(REFUSALS) as RefusalCode[]), 404, 413),
}

/** Declares the pages of one area. Whatever a page must not forget is declared here, once. */
export function createPageRoutes(app: App, { site, cookies, errors }: PageParts, area: PageArea): PageRoutes {
  const isDisabled = !site.isEnabled[area]
  const everyone: Access = area === 'console' ? 'admin' : 'user'

  function adder(method: 'GET' | 'POST'): AddPage {
    return (path, options, handle) => {
      const {
        params,
        query,
        body,
        access = everyone,
        writes = method === 'POST',
        asksForPassword,
        limits,
        deadlineMs,
        isLocal,
        queryToken,
        isDownload,
      } = options
      const question = questionOf(asksForPassword)
      const form = method === 'POST' && typeof question === 'object' ? { ...body, password: Type.Optional(GivenPassword) } : body
      app.route({
        method,
        url: `/${area}${path}`,
        config: {
          page: area,
          access,
          writes,
          isDisabled,
          hasOneAddress: true,
          ...(isLocal && { isLocal }),
          ...(queryToken !== undefined && { queryToken }),
          ...(isDownload && { isDownload }),
          ...(question !== undefined && { asksForPassword: question }),
          ...(limits && { limits }),
          ...(deadlineMs && { deadlineMs }),
        },
        schema: {
          hide: true,
          ...(params && { params: Type.Object(params) }),
          ...(query && { querystring: Type.Object(query) }),
          ...(form && { body: formBody(form) }),
          response: RESPONSES,
        },
        errorHandler: errors.handler(area, retryOf(options)),
        handler: async (request, reply) => {
          const result = await handle({ ...inputOf(request), reply })
          if ('isSent' in result) return reply
          return 'to' in result ? redirect(reply, result) : send(request, reply, result)
        },
      })
    }
  }

  function redirect(reply: FastifyReply, { to, notice }: Redirect): FastifyReply {
    if (notice !== undefined) cookies.setNotice(reply, notice)
    return reply.redirect(`${site.root}${to}`, 303)
  }

  function send(request: FastifyRequest, reply: FastifyReply, page: Page): FastifyReply {
    const notice = request.method === 'GET' ? cookies.takeNotice(request, reply) : undefined
    const [path = ''] = request.url.split('?')
    return sendSitePage(reply, renderPage(site, { area, path, user: request.caller?.user, notice }, page), page.status ?? 200)
  }

  return { get: adder('GET'), post: adder('POST') }
}

/** The request, as the schemas of its route have parsed it. */
function inputOf<Input extends PageInput<Fields, Fields, Fields>>(request: FastifyRequest): Input {
  const { params, query, body, caller, origin } = request
  // Checked by the schemas, which the type of the input is derived from.
  return { params, query, body, actor: { caller, origin }, request } as Input
}

/** The declaration of a page in terms of the pipeline, which knows the request only. */
function questionOf<Input extends PageInput<Fields, Fields, Fields>>(
  asks: AsksForPassword<Input> | undefined,
): AsksForPassword | undefined {
  if (typeof asks !== 'object') return asks
  const { when } = asks
  return { ...asks, when: when && ((request) => when(inputOf(request))) }
}

/** A form that needs no field may be empty: then its fields are not there. */
function formBody(fields: Fields): object {
  const schema = Type.Object(fields)
  return { content: { [FORM]: { schema } }, mayBeAbsent: !('required' in schema) }
}

export function sendSitePage(reply: FastifyReply, page: ReturnType<typeof renderPage>, status: number): FastifyReply {
  const headers = reply.request.routeOptions.config.queryToken === undefined ? SITE_HEADERS : SECRET_ADDRESS_HEADERS
  return reply.code(status).headers(headers).type('text/html; charset=utf-8').send(renderHtml(page))
}
