import type { Profile } from '../../../model/user.ts'
import type { SqlTexts } from '../../database.ts'
import { fold } from './user.repository.ts'

/** How a term is looked up in the trigram index: any term of three letters or more, or one with a single @ after its second character. */
export type IndexedTerm = 'partial' | 'addressPart'

/** A search term. Both databases get it as `$1`, folded. */
export type Term = {
  readonly folded: string
  /** Too short for the trigram index. */
  readonly isShort: boolean
  readonly kind: IndexedTerm
}

const TRIGRAM_LENGTH = 3
// An address has one @. With two characters before it, there is a trigram that ends with it.
const ADDRESS_PART = /^[^@]{2,}@[^@]*$/u
// The end of a local part often has a number, which few share.
const TAIL_LENGTH = 7
/** Each candidate costs a read of its user. */
const MAX_CANDIDATES = 200

/** Each word has to be in one of the columns: `mia moss` finds Mia Moss. */
export const MAX_INDEXED_WORDS = 4

export type Words = {
  readonly folded: readonly string[]
  /** For the trigram index, as many as its statement takes: the first one fills up. Undefined if it does not cover all words. */
  readonly indexed: readonly string[] | undefined
}

/** The words of a term; undefined if it is one word. */
export function wordsOf(text: string): Words | undefined {
  const folded = [...new Set(fold(text).split(' ').filter(Boolean))]
  const [first] = folded
  if (first === undefined || folded.length === 1) return undefined
  const isCovered = folded.length <= MAX_INDEXED_WORDS && folded.every((word) => Array.from(word).length >= TRIGRAM_LENGTH)
  return { folded, indexed: isCovered ? Array.from({ length: MAX_INDEXED_WORDS }, (_, n) => folded[n] ?? first) : undefined }
}

export function termOf(text: string): Term {
  const folded = fold(text)
  const isShort = Array.from(folded).length < TRIGRAM_LENGTH
  return { folded, isShort, kind: ADDRESS_PART.test(folded) ? 'addressPart' : 'partial' }
}

/** The columns that a search reads, in folded form. */
export const SEARCHED: Readonly<Record<keyof Profile, string>> = {
  email: 'email_key',
  firstName: 'first_name_folded',
  lastName: 'last_name_folded',
}
// The wildcards of LIKE are ordinary characters in a search term.
const literal = (text: string) => String.raw`replace(replace(replace(${text}, '\', '\\'), '%', '\%'), '_', '\_')`
const patternOf = (value: string) => `'%' || ${literal(value)} || '%'`
const PATTERN = patternOf('$1')
/**
 * For PostgreSQL, and a term with one @: an address with the term in it has a local part that ends like the term before its @. This is
 * true for every match, and lets PostgreSQL choose an index that finds few users even if many share each part of the address.
 */
const IS_LOCAL_PART = `reverse(split_part(email_key, '@', 1)) like ${literal("reverse(split_part($1, '@', 1))")} || '%'`
const phraseOf = (value: string) => `'"' || replace(${value}, '"', '""') || '"'`
const PHRASE = phraseOf('$1')
/** The end of the local part of an address, with its @. */
const TAIL_PHRASE = phraseOf(`substr(substr($1, 1, instr($1, '@')), -${TAIL_LENGTH})`)

/** How the users are found who have a term in one of these columns. */
export function matchingIn(columns: readonly string[]) {
  const anyOf = (condition: (column: string) => string) => columns.map(condition).join(' or ')
  const allOf = (condition: (column: string) => string) => columns.map(condition).join(' and ')
  const words = Array.from({ length: MAX_INDEXED_WORDS }, (_, n) => `$${n + 1}`)
  /** PostgreSQL has its index on a copy of the columns, and uses it for LIKE. */
  const isLike = (kind: IndexedTerm) =>
    anyOf((column) => {
      const contains = `${column} like ${PATTERN}`
      return kind === 'addressPart' && column === SEARCHED.email ? `(${contains} and ${IS_LOCAL_PART})` : contains
    })
  const inFts = (query: string) => `select rowid as id from users_search where users_search match ${query}`
  const inColumns = `'{${columns.join(' ')}} : ' || `
  /** A condition for rows of `users`, without an index. */
  const isMatch: SqlTexts = {
    postgres: `(${anyOf((column) => `strpos(users.${column}, $1) > 0`)})`,
    sqlite: `(${anyOf((column) => `instr(users.${column}, $1) > 0`)})`,
  }
  const idsOf = (kind: IndexedTerm): SqlTexts => ({
    postgres: `select user_id as id from users_search where ${isLike(kind)}`,
    sqlite: kind === 'partial' ? inFts(inColumns + PHRASE) : byTail,
  })
  /**
   * For SQLite, and a term with one @. Many users share the trigrams of a domain, and a phrase walks through the entries of all of its
   * trigrams. So the few users with the end of the local part are checked one by one; unless they are many, as for `support@`.
   */
  const byTail = `
    select id from (
      with candidates as materialized (${inFts(inColumns + TAIL_PHRASE)} limit ${MAX_CANDIDATES + 1}),
        counted as materialized (select count(*) > ${MAX_CANDIDATES} as are_many from candidates)
      select users.id from counted cross join candidates cross join users on users.id = candidates.id where not are_many and ${isMatch.sqlite}
      union all
      ${inFts(`(select iif(are_many, ${inColumns + PHRASE}, '""') from counted)`)}
    )`
  const allWords = words.map((word) => `(${anyOf((column) => `${column} like ${patternOf(word)}`)})`).join(' and ')
  return {
    isMatch,
    /** The same for several words, which `$1` lists as JSON. */
    isWordsMatch: {
      postgres: `not exists (select 1 from json_array_elements_text($1::text::json) as given (word) where ${allOf((column) => `strpos(users.${column}, word) = 0`)})`,
      sqlite: `not exists (select 1 from json_each($1) as given where ${allOf((column) => `instr(users.${column}, given.value) = 0`)})`,
    },
    /** The same for several words of which each is a value. */
    isIndexedWordsMatch: words.map((word) => `(${anyOf((column) => `instr(users.${column}, ${word}) > 0`)})`).join(' and '),
    /** The ids of users with all words, by the trigram index. Each word is a value. */
    wordIds: {
      postgres: `select user_id as id from users_search where ${allWords}`,
      sqlite: inFts(words.map((word) => inColumns + phraseOf(word)).join(" || ' AND ' || ")),
    },
    /** Conditions for rows of the copy that PostgreSQL searches, for a term and for words. */
    isLike: isLike('partial'),
    isLikeWords: allWords,
    /** The ids by the trigram index. */
    ids: { partial: idsOf('partial'), addressPart: idsOf('addressPart') },
    /** The ids of users of whom a whole column equals the term. */
    exactIds: {
      postgres: columns.map(exactIn).join(' union '),
      sqlite: `select id from users where ${anyOf((column) => `${column} = $1`)}`,
    },
  }
}

// For PostgreSQL: addresses have their unique index on the table users; names have theirs on the table users_search.
function exactIn(column: string): string {
  return column === SEARCHED.email
    ? `select id from users where ${column} = $1`
    : `select user_id as id from users_search where ${column} = $1`
}
