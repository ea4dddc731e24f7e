// The router keeps a tree of paths for each method. Methods that no route accepts share one tree, which saves most of the memory.
const OTHER_METHOD = 'TRACE'
export const ROUTED_METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', OTHER_METHOD]

/** The method under which the router looks for a route. */
export function routedMethod(method = OTHER_METHOD): string {
  return ROUTED_METHODS.includes(method) ? method : OTHER_METHOD
}

/** The method as metrics and logs show it. */
export function shownMethod(method: string): string {
  return method === OTHER_METHOD ? 'OTHER' : method
}
