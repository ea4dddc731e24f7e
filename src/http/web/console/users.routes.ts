import type { UserDirectory } from '../../../domain/users/user-directory.service.ts'
import { SEARCH_TERM_MAX_LENGTH } from '../../../domain/values/search.ts'
import { isCleanText } from '../../../domain/values/text.ts'
import type { UserPlace, UserSort } from '../../../model/user.ts'
import type { App } from '../../pipeline/app-type.ts'
import { Type } from '../../validation/schema.ts'
import { createPageRoutes, type PageParts } from '../site/page-routes.ts'
import { SORT_NAMES, STATUS_NAMES, type UsersQuery, usersPage } from './users.pages.ts'

export type ConsoleUsersParts = PageParts & { readonly userDirectory: UserDirectory }

const PAGE_SIZE = 50
const Place = Type.Optional(Type.String({ maxLength: 1000 }))
const Query = {
  q: Type.Optional(Type.String({ trimmed: true, maxLength: SEARCH_TERM_MAX_LENGTH, default: '' })),
  // A field that is chosen in the form for "all" arrives empty.
  status: Type.Optional(Type.Enum(['', ...STATUS_NAMES], { default: '' })),
  sort: Type.Optional(Type.Enum(SORT_NAMES, { default: 'newest' })),
  after: Place,
  before: Place,
}

/** The list of all accounts. */
export function consoleUsersRoutes(app: App, parts: ConsoleUsersParts): void {
  const { get } = createPageRoutes(app, parts, 'console')

  get('/users', { query: Query }, async ({ query }) => {
    const { q = '', status = '', sort = 'newest', after, before } = query
    const shown: UsersQuery = { q, status: status === '' ? undefined : status, sort }
    const place = placeOf(sort, 'after', after) ?? placeOf(sort, 'before', before)
    const page = await parts.userDirectory.page({ term: q, status: shown.status, sort, place, size: PAGE_SIZE })
    return usersPage(parts.site, shown, page)
  })
}

/** A place that cannot be read, or that belongs to another order, is the beginning. */
function placeOf(sort: UserSort, direction: UserPlace['direction'], text: string | undefined): UserPlace | undefined {
  try {
    const [key, id] = JSON.parse(Buffer.from(text ?? '', 'base64url').toString()) as unknown[]
    if (!Number.isSafeInteger(id)) return undefined
    const isKey = sort === 'email' ? typeof key === 'string' && isCleanText(key) : Number.isSafeInteger(key)
    // Both were checked.
    return isKey ? { direction, key: key as string | number, id: id as number } : undefined
  } catch {
    return undefined
  }
}
