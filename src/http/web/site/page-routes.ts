import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../../../model/caller.ts'
import { REFUSALS, type RefusalCode } from '../../../model/refusal.ts'
import type { Html } from '../../../shared/html.ts'
import { HtmlView, refusals } from '../../answers/replies.ts'
import type { Access, App, AsksForPassword, PageArea } from '../../pipeline/declarations.ts'
import { type Static, type TSchema, Type } from '../../validation/schema.ts'
import { type Label, labelText, type Texts } from '../texts/texts.ts'
import type { Cookies } from './cookies.ts'
import { type Form, type FormFields, formOf } from './elements/fields.ts'
import { productOrigin, type ReturnAddress } from './hand-off.ts'
import type { Notice } from './messages.ts'
import { pageErrorHandler } from './page-errors.ts'
import { ANSWER_FIELDS } from './recent-password.ts'
import { type Page, sendSitePage } from './shell.ts'
import type { Site } from './site.ts'

/** Leads to another page, which shows the notice. */
export type Redirect = { readonly to: string; readonly notice?: Notice | undefined }

/** Leads to the product. */
type Leaving = { readonly away: ReturnAddress }

/** A response that is neither a page nor a redirect, such as a download: the handler has sent it. */
type Sent = { readonly isSent: true }

type Schemas = Readonly<Record<string, TSchema>>
type Values<Declared extends Schemas> = { readonly [Name in keyof Declared]: Static<Declared[Name]> }

/** What a query may say, for the address of a page. */
export type Place<Declared extends Schemas> = { readonly [Name in keyof Declared]?: Static<Declared[Name]> | undefined }

/** A request, as the schemas of its page have parsed it. */
export type PageRequest<Params extends Schemas, Query extends Schemas, Fields extends FormFields = FormFields> = {
  readonly params: Values<Params>
  readonly query: Values<Query>
  readonly body: { readonly [Name in keyof Fields]: Static<Fields[Name]['schema']> }
  /** The caller and the origin. On pages that are not public. */
  readonly actor: Actor
  readonly request: FastifyRequest
  /** The texts in the language of the reader. */
  readonly texts: Texts
}

type Handle<Params extends Schemas, Query extends Schemas, Fields extends FormFields> = (
  input: PageRequest<Params, Query, Fields>,
  reply: FastifyReply,
) => Promise<Page | Redirect | Leaving | Sent> | Page | Redirect | Leaving

type Config = 'isLocal' | 'queryToken' | 'limits' | 'writes' | 'isDownload' | 'deadlineMs' | 'worksWithoutFactor' | 'guardsRole'

/** A page, or what a form is sent to. */
type PageRoute<Params extends Schemas, Query extends Schemas, Fields extends FormFields> = Pick<FastifyContextConfig, Config> & {
  /** Admins in the console and every user in the account pages, unless this says something else. */
  readonly access?: 'public' | 'user' | undefined
  readonly asksForPassword?: AsksForPassword<PageRequest<Params, Query, Fields>>
  readonly params?: Params
  readonly query?: Query | undefined
  readonly fields?: Fields
  /** Shows a refused form again, with what is wrong. */
  readonly retry?: (form: Form<keyof Fields & string>, request: FastifyRequest) => Page | Promise<Page>
  readonly handle: Handle<Params, Query, Fields>
}

/** A form that changes something and leads to a page, which says so. */
type ActionRoute<Params extends Schemas, Query extends Schemas, Fields extends FormFields, Result> = Omit<
  PageRoute<Params, Query, Fields>,
  'handle'
> &
  Required<Pick<PageRoute<Params, Query, Fields>, 'asksForPassword'>> & {
    readonly change: (input: PageRequest<Params, Query, Fields>) => Promise<Result>
    readonly to: string | ((input: PageRequest<Params, Query, Fields>) => string)
    readonly notice: Notice | ((result: Result) => Notice)
  }

type Arrival = Form['values'] | (Redirect & { readonly isAtOnce: true })

/** A page that is one form, and what the form is sent to. */
type FormPage<Query extends Schemas, Fields extends FormFields> = Pick<Page, 'isLone' | 'hasSecretAddress'> &
  Omit<PageRoute<Schemas, Schemas, Fields>, 'query' | 'retry' | 'handle'> &
  Required<Pick<PageRoute<Schemas, Schemas, Fields>, 'asksForPassword' | 'fields'>> & {
    readonly title: Label
    /** The page above this one. */
    readonly back?: { readonly path: string; readonly text: Label }
    /** Where the form is sent to, if not to the address of the page. */
    readonly action?: string
    /** The query of the page. It fills the fields of the same names. */
    readonly query?: Query
    /** What the fields are filled with, or where the page leads at once. Without it, the query fills them. */
    readonly arrive?: ((input: PageRequest<Schemas, Query>) => Arrival) | undefined
    readonly show: (form: Form<keyof Fields & string>, request: FastifyRequest) => Html | Promise<Html>
    readonly submit: Handle<Schemas, Schemas, Fields>
  }

const FORM = 'application/x-www-form-urlencoded'

/** Every status and code of a page. Pages are not part of the API, so they are declared once for all. */
const RESPONSES = {
  200: HtmlView,
  303: HtmlView,
  // Object.keys returns string[]; these are the keys of this object.
  ...refusals(...(Object.keys(REFUSALS) as RefusalCode[]), 404, 413),
}

/** Declares the pages of one area. Whatever a page must not forget is declared here, once. */
export function createPageRoutes(app: App, { site, cookies }: { readonly site: Site; readonly cookies: Cookies }, area: PageArea) {
  const everyone: Access = area === 'console' ? 'admin' : 'user'
  const isDisabled = !site.isEnabled[area]

  function add<Params extends Schemas, Query extends Schemas, Fields extends FormFields>(
    method: 'GET' | 'POST',
    path: string,
    route: PageRoute<Params, Query, Fields>,
  ): void {
    const { access = everyone, params, query, fields, asksForPassword, retry, handle, writes = method === 'POST', ...config } = route
    const question = questionOf(asksForPassword)
    const body = fields && Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]))
    const form = method === 'POST' && typeof question === 'object' ? { ...body, ...ANSWER_FIELDS } : body
    app.route({
      method,
      url: `/${area}${path}`,
      config: {
        page: area,
        access,
        writes,
        isDisabled,
        hasOneAddress: true,
        ...(question !== undefined && { asksForPassword: question, guardsRole: question !== false }),
        ...config,
      },
      schema: {
        hide: true,
        ...(params && { params: Type.Object(params) }),
        ...(query && { querystring: Type.Object(query) }),
        ...(form && { body: formBody(form) }),
        response: RESPONSES,
      },
      errorHandler: pageErrorHandler(site, cookies, area, { fields, retry }),
      handler: async (request, reply) => {
        await site.texts.forPage(request)
        const result = await handle(inputOf(request), reply)
        if ('isSent' in result) return reply
        if ('content' in result) {
          const notice = method === 'GET' ? cookies.takeNotice(request, reply) : undefined
          return sendSitePage(reply, site, { area, user: request.caller?.user, notice }, result)
        }
        return reply.redirect(addressOf(result, reply), 303)
      },
    })
  }

  function addressOf(result: Redirect | Leaving, reply: FastifyReply): string {
    if ('away' in result) return result.away
    if (result.notice !== undefined) cookies.setNotice(reply, result.notice)
    return `${site.root}${result.to}`
  }

  return {
    get<Params extends Schemas, Query extends Schemas>(path: string, page: PageRoute<Params, Query, FormFields>): void {
      add('GET', path, page)
    },
    post<Params extends Schemas, Query extends Schemas, Fields extends FormFields>(
      path: string,
      // Not optional, so that no form is a detour around one that asks.
      form: PageRoute<Params, Query, Fields> & Required<Pick<PageRoute<Params, Query, Fields>, 'asksForPassword'>>,
    ): void {
      add('POST', path, form)
    },
    action<Params extends Schemas, Query extends Schemas, Fields extends FormFields, Result>(
      path: string,
      { change, to, notice, ...route }: ActionRoute<Params, Query, Fields, Result>,
    ): void {
      add('POST', path, {
        ...route,
        async handle(input) {
          const result = await change(input)
          return { to: typeof to === 'string' ? to : to(input), notice: typeof notice === 'string' ? notice : notice(result) }
        },
      })
    },
    form<Query extends Schemas, Fields extends FormFields>(path: string, declared: FormPage<Query, Fields>): void {
      const { title, isLone, back, hasSecretAddress, action = path, query, arrive, show, submit, ...route } = declared
      const page = async (form: Form<keyof Fields & string>, request: FastifyRequest) => ({
        title: labelText(title, request.texts),
        isLone,
        back: back && { ...back, text: labelText(back.text, request.texts) },
        hasSecretAddress,
        formOrigin: productOrigin(site, form.values['next']),
        content: await show(form, request),
      })
      const open = (input: PageRequest<Schemas, Query>) => {
        const arrived = arrive?.(input) ?? input.query
        return isRedirect(arrived) ? arrived : page(formOf(input.texts, route.fields, arrived), input.request)
      }
      // Whoever could not send the form is led to the second factor before filling it in.
      const guardsRole = route.asksForPassword !== false
      add('GET', path, { access: route.access, query, guardsRole, handle: open })
      add('POST', action, { ...route, retry: page, handle: submit })
    },
  }
}

function isRedirect(arrived: Arrival): arrived is Redirect & { readonly isAtOnce: true } {
  return 'isAtOnce' in arrived
}

/** The request, as the schemas of its route have parsed it. */
function inputOf<Input extends PageRequest<Schemas, Schemas, FormFields>>(request: FastifyRequest): Input {
  const { params, query, body, caller, origin, texts } = request
  // Checked by the schemas, which the type of the input is derived from.
  return { params, query, body, actor: { caller, origin }, request, texts } as Input
}

/** The declaration of a page in terms of the pipeline, which knows the request only. */
function questionOf<Input extends PageRequest<Schemas, Schemas, FormFields>>(
  asks: AsksForPassword<Input> | undefined,
): AsksForPassword | undefined {
  if (typeof asks !== 'object') return asks
  const { when } = asks
  return { ...asks, when: when && ((request) => when(inputOf(request))) }
}

/** A form that needs no field may be empty: then its fields are not there. */
function formBody(fields: Schemas): object {
  const schema = Type.Object(fields)
  return { content: { [FORM]: { schema } }, mayBeAbsent: !('required' in schema) }
}
