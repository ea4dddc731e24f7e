import type { PageArea } from '../../pipeline/declarations.ts'
import { PAGE_SEGMENT } from '../../pipeline/one-address.ts'

// Only pages of this service: a fixed first segment, then plain characters. No host, no backslash, no control character.
const OWN_PAGE = new RegExp(`^/(?:console|account)(?:/(?:${PAGE_SEGMENT})?)*(?:\\?[\\w\\-.~%&=+@:/!*'(),;]*)?$`)
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
