import { Type } from 'typebox'

export const RefusalView = Type.Object({ detail: Type.String() })

export const FaultsView = Type.Object({
  detail: Type.Array(
    Type.Object({
      loc: Type.Array(Type.Union([Type.String(), Type.Integer()])),
      msg: Type.String(),
      type: Type.String(),
    }),
  ),
})

/** A response without a body. */
export const Empty = Type.Unsafe<undefined>({ description: 'No body' })

/** A page. */
export const HtmlView = Type.String()

/** The text format of Prometheus. */
export const MetricsView = Type.String()

type RefusalStatus = 400 | 401 | 403 | 404 | 413 | 422 | 503

/** The refusals that a route declares. Any route may fail, so that 500 is among them always. */
export function refusals<Status extends RefusalStatus>(
  ...statuses: Status[]
): Record<Exclude<Status, 422> | 500, typeof RefusalView> & Record<Extract<Status, 422>, typeof FaultsView> {
  const views = statuses.map((status) => [status, status === 422 ? FaultsView : RefusalView])
  // The entries are those that the type names: one for each status, and 500.
  return Object.fromEntries([...views, [500, RefusalView]]) as ReturnType<typeof refusals<Status>>
}
