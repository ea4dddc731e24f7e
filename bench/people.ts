import { fold } from '../src/storage/repositories/users/user.repository.ts'

/** The fields of a benchmark user that are derived from its number. */
export type BenchPerson = { readonly email: string; readonly firstName: string; readonly lastName: string }

// Every tenth user has the first name of the list, one in four hundred has the last.
const FIRST_NAMES =
  'Maria James Anna Michael Sofia David Elena Thomas Laura Daniel Sarah Peter Julia Martin Emma Robert Hannah Stefan Zoe Victor'.split(' ')
const STEMS =
  'Ander Lind Sand Strom Hall Berg Nor Wester Oster Soder Gran Bjork Ek Alm Lund Holm Dal Fors Gust Palm Ros Silver Guld Blom Sten'.split(
    ' ',
  )
// Every eighth user has the first ending.
const ENDINGS = 'son mann gren feldt quist ström beck stedt hagen vik dotter wall borg lander rup hardt'.split(' ')
const DOMAINS = ['example.com', 'example.org', 'mail.example.net', 'staff.example.com', 'example.co.uk']
// No other name contains a part of these.
const RARE_NAME = { firstName: 'Xquilla', lastName: 'Zwyxford' }
const RARE_EVERY = 50_000
const FIRST_RARE = 500

/** Search terms for each field that match many users, few users, and every user. */
export const FREQUENT_TERMS = { all: 'maria', email: 'maria', first_name: 'maria', last_name: 'son' } as const
export const RARE_TERMS = { all: 'zwyx', email: 'zwyx', first_name: 'xquil', last_name: 'zwyx' } as const
export const TERM_OF_EVERYONE = 'example'
/** In the names of about one user in a hundred, who are at the end of a list by address. */
export const ONE_PERCENT_TERM = 'zoe'

/** Returns the same person for the same number in every run. */
export function personOf(number: number): BenchPerson {
  const { firstName, lastName } = number % RARE_EVERY === FIRST_RARE ? RARE_NAME : nameOf(number)
  const domain = DOMAINS[scatter(number, 5) % DOMAINS.length]
  // Names may contain letters beyond ASCII, addresses do not.
  const local = fold(`${firstName}.${lastName}`).replaceAll('ö', 'o')
  return { email: `${local}${number}@${domain}`, firstName, lastName }
}

function nameOf(number: number): Pick<BenchPerson, 'firstName' | 'lastName'> {
  const stem = STEMS[scatter(number, 3) % STEMS.length]
  return { firstName: skewed(FIRST_NAMES, scatter(number, 1)), lastName: `${stem}${skewed(ENDINGS, scatter(number, 7))}` }
}

/** Picks earlier names more often: the weights fall from twice the mean to zero. */
function skewed(names: readonly string[], draw: number): string {
  const share = (draw % 65_536) / 65_536
  return names[Math.floor(names.length * (1 - Math.sqrt(1 - share)))] ?? ''
}

/** A deterministic hash of the arguments. */
function scatter(number: number, salt: number): number {
  let mixed = Math.imul(number ^ (salt << 24), 0x9e3779b1) >>> 0
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) >>> 0
  return (mixed ^ (mixed >>> 13)) >>> 0
}
