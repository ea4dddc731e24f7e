import type { RefusalCode } from '../../model/refusal.ts'
import { type Static, type TSchema, Type, text } from '../validation/schema.ts'
import { ANSWERS, type Answer, type ErrorCode } from './answers.ts'

const RefusalView = Type.Object(
  { detail: text('What went wrong, for people.', 'That token is Invalid') },
  { title: 'ErrorResponse', description: 'The body of every error except 422.' },
)

const ValidationIssueView = Type.Object(
  {
    loc: Type.Array(Type.Union([Type.String(), Type.Integer()]), {
      description: 'The location: `body`, `query` or `path`, then the name of the field, then the index in a list.',
      examples: [['body', 'password']],
    }),
    msg: text('What is wrong, for people.', 'String should have at least 8 characters'),
    type: text('The kind of issue, for programs.', 'string_too_short'),
  },
  { title: 'ValidationIssue', description: 'One problem in a request.' },
)

const ValidationErrorView = Type.Object(
  { detail: Type.Array(ValidationIssueView, { description: 'All validation issues of the body, or of the path or the query.' }) },
  { title: 'ValidationError', description: 'The request is invalid. Submitted values are never repeated.' },
)

/** A response without a body. */
export const Empty = Type.Unsafe<undefined>({ description: 'Done. The response has no body.' })

/** An HTML page. */
export const HtmlView = Type.String({ contentMediaType: 'text/html', description: 'An HTML page.' })

/** The text format of Prometheus. */
export const MetricsView = Type.String({ contentMediaType: 'text/plain', description: 'The metrics, in the text format of Prometheus.' })

/** A view with the description and the example of one route. Only the documentation uses them. */
export function described<View extends TSchema>(view: View, description: string, example?: Static<View>): View {
  return { ...view, answer: { description, example } }
}

/**
 * Errors that mean the same on every route: 401 for missing or invalid credentials on a route that is not public, 404 for a path
 * that the settings disable.
 */
export const COMMON_CODES = {
  401: ['not_authenticated', 'token_invalid', 'token_expired', 'key_invalid', 'key_inactive', 'key_expired'],
  403: ['not_permitted', 'second_factor_required'],
  404: ['path_not_found'],
  413: ['body_too_large'],
  422: ['invalid_request'],
  429: ['too_many_requests'],
  500: ['internal_error'],
  503: ['unavailable'],
} as const satisfies Readonly<Record<number, readonly ErrorCode[]>>

export type CommonStatus = keyof typeof COMMON_CODES
/** Any route may receive an invalid query, and any may fail. */
const ALWAYS = [422, 500] as const

type StatusOf<Declared extends RefusalCode | CommonStatus> = Declared extends RefusalCode ? (typeof ANSWERS)[Declared]['status'] : Declared
type Refusals<Status> = Record<(Status & number) | 500, typeof RefusalView> & Record<422, typeof ValidationErrorView>

/**
 * The errors that a route declares: its specific ones by code, the common ones by status. The property `codes` keeps the codes of each
 * status for the documentation.
 */
export function refusals<const Declared extends readonly (RefusalCode | CommonStatus)[]>(
  ...declared: Declared
): Refusals<StatusOf<Declared[number]>> {
  const items: readonly (RefusalCode | CommonStatus)[] = [...declared, ...ALWAYS]
  const answers = items.flatMap((item): readonly Answer[] =>
    typeof item === 'number' ? COMMON_CODES[item].map((code) => ANSWERS[code]) : [ANSWERS[item]],
  )
  const byStatus = Map.groupBy(answers, ({ status }) => status)
  const views = [...byStatus].map(([status, ofStatus]) => [
    status,
    { ...(status === 422 ? ValidationErrorView : RefusalView), codes: [...new Set(ofStatus.map(({ code }) => code))] },
  ])
  // The entries match the type: one for each declared status, 422 and 500.
  return Object.fromEntries(views) as Refusals<StatusOf<Declared[number]>>
}
