// The router keeps a tree of paths for each method. All methods that no route takes share one tree, which saves most of its memory.
const OTHER_METHOD = 'TRACE'
export const ROUTED_METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', OTHER_METHOD]

/** The method under which the router looks for a route. */
export function routedMethod(method = OTHER_METHOD): string {
  return ROUTED_METHODS.includes(method) ? method : OTHER_METHOD
}

/** The method for counters and logs. */
export function shownMethod(method: string): string {
  return method === OTHER_METHOD ? 'OTHER' : method
}
