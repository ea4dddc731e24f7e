import type { PageArea } from '../../pipeline/declarations.ts'

// Only pages of this service: a fixed first segment, then plain characters. No host, no backslash, no control character. A segment may
// contain single dots and @, as the name of a kept mail does, but does not begin or end with them: none is `.` or `..`.
const WORD = /(?:[\w+-]|%2B)+/.source
const SEGMENT = `${WORD}(?:(?:\\.|@|%40)${WORD})*`
const OWN_PAGE = new RegExp(`^/(?:console|account)(?:/(?:${SEGMENT})?)*(?:\\?[\\w\\-.~%&=+@:/!*'(),;]*)?$`)
const MAX_LENGTH = 1000

/** Where to go after signing in: the page that was requested, if it is a page of this service, otherwise the first page of the area. */
export function returnPath(requested: string | undefined, area: PageArea): string {
  const start = `/${area}/`
  if (requested === undefined || requested.length > MAX_LENGTH || !OWN_PAGE.test(requested)) return start
  const [path = ''] = requested.split('?')
  // Signing in must not lead back to signing in.
  return path.includes('//') || /\/sign-(?:in|out)$/.test(path) ? start : requested
}

/** The sign-in page that leads back to the requested page. */
export function signInPath(area: PageArea, requested: string): string {
  const next = returnPath(requested, area)
  return next === `/${area}/` ? `/${area}/sign-in` : `/${area}/sign-in?next=${encodeURIComponent(next)}`
}
