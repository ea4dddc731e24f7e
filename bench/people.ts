import { fold } from '../src/storage/repositories/folding.ts'

/** A user of a bench, as far as the number of the user decides about it. */
export type BenchPerson = { readonly email: string; readonly firstName: string; readonly lastName: string }

// The first name of the list is held by every tenth user, the last by one of four hundred.
const FIRST_NAMES =
  'Maria James Anna Michael Sofia David Elena Thomas Laura Daniel Sarah Peter Julia Martin Emma Robert Hannah Stefan Zoe Victor'.split(' ')
const STEMS =
  'Ander Lind Sand Strom Hall Berg Nor Wester Oster Soder Gran Bjork Ek Alm Lund Holm Dal Fors Gust Palm Ros Silver Guld Blom Sten'.split(
    ' ',
  )
// The first ending is held by every eighth user.
const ENDINGS = 'son mann gren feldt quist ström beck stedt hagen vik dotter wall borg lander rup hardt'.split(' ')
const DOMAINS = ['example.com', 'example.org', 'mail.example.net', 'staff.example.com', 'example.co.uk']
// Nobody else has a part of it.
const RARE_NAME = { firstName: 'Xquilla', lastName: 'Zwyxford' }
const RARE_EVERY = 50_000
const FIRST_RARE = 500

/** A term in each field that many have, one that few have, and one that everyone has. */
export const FREQUENT_TERMS = { all: 'maria', email: 'maria', first_name: 'maria', last_name: 'son' } as const
export const RARE_TERMS = { all: 'zwyx', email: 'zwyx', first_name: 'xquil', last_name: 'zwyx' } as const
export const TERM_OF_EVERYONE = 'example'

/** The same person for the same number, in every run. */
export function personOf(number: number): BenchPerson {
  const { firstName, lastName } = number % RARE_EVERY === FIRST_RARE ? RARE_NAME : nameOf(number)
  const domain = DOMAINS[scatter(number, 5) % DOMAINS.length]
  // Letters beyond ASCII are for names; an address that people type has none.
  const local = fold(`${firstName}.${lastName}`).replaceAll('ö', 'o')
  return { email: `${local}${number}@${domain}`, firstName, lastName }
}

function nameOf(number: number): Pick<BenchPerson, 'firstName' | 'lastName'> {
  const stem = STEMS[scatter(number, 3) % STEMS.length]
  return { firstName: skewed(FIRST_NAMES, scatter(number, 1)), lastName: `${stem}${skewed(ENDINGS, scatter(number, 7))}` }
}

/** The first of a list more often than the next: weights fall from twice the mean to none. */
function skewed(names: readonly string[], draw: number): string {
  const share = (draw % 65_536) / 65_536
  return names[Math.floor(names.length * (1 - Math.sqrt(1 - share)))] ?? ''
}

/** A number without visible order, the same for the same arguments. */
function scatter(number: number, salt: number): number {
  let mixed = Math.imul(number ^ (salt << 24), 0x9e3779b1) >>> 0
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) >>> 0
  return (mixed ^ (mixed >>> 13)) >>> 0
}
