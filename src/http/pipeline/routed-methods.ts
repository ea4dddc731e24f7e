/** To the router, the methods that no route takes are one: a tree of paths for each of them would be a large part of its memory. */
const OTHER_METHOD = 'TRACE'
export const ROUTED_METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', OTHER_METHOD]

/** For counters and logs: what the router calls by one name was any of them. */
export function shownMethod(method: string): string {
  return method === OTHER_METHOD ? 'OTHER' : method
}

export function routedMethod(method = OTHER_METHOD): string {
  return ROUTED_METHODS.includes(method) ? method : OTHER_METHOD
}
