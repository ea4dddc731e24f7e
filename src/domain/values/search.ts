import type { SearchField } from '../../model/user.ts'
import { codePointLength, isCleanText } from './text.ts'

/** The fields that can be searched, by their names in requests and on the command line. */
export const SEARCH_FIELDS = { all: 'all', email: 'email', first_name: 'firstName', last_name: 'lastName' } as const satisfies Record<
  string,
  SearchField
>
export const SEARCH_DEFAULTS = { field: 'all', isExact: false, page: 1, size: 50 } as const
export const SEARCH_MAX_SIZE = 100
export const SEARCH_TERM_MAX_LENGTH = 256

/** Whether this text is a valid search term. */
export function isSearchTerm(text: string): boolean {
  return isCleanText(text) && codePointLength(text) <= SEARCH_TERM_MAX_LENGTH
}
