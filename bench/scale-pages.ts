import { ask, lateOnly, signIn } from './client.ts'
import { FREQUENT_TERMS, ONE_PERCENT_TERM, personOf, RARE_TERMS, TERM_OF_EVERYONE } from './people.ts'
import { createdAtOf, KEY_NAMES, keyBeginningOf, lastLoginOf } from './population.ts'
import { type Compared, compare, type Populated } from './scale-hot-path.ts'

const SORTS = ['newest', 'oldest', 'email', 'signed-in'] as const
const STATUSES = ['', 'active', 'unverified', 'banned', 'admin'] as const
const ROUNDS = 20
const ROUNDS_OF_SEARCHES = 3

/** The terms that are searched for, by what is known about them. Short terms cannot use the index for parts of words. */
const TERMS = {
  'rare term': RARE_TERMS.all,
  'term of one user in a hundred': ONE_PERCENT_TERM,
  'term of every tenth user': FREQUENT_TERMS.all,
  'term of every user': TERM_OF_EVERYONE,
  'two letters, rare': RARE_TERMS.all.slice(1, 3),
  'two letters, one user in a hundred': ONE_PERCENT_TERM.slice(0, 2),
  'two letters, every tenth user': FREQUENT_TERMS.all.slice(-2),
  'two letters, every user': TERM_OF_EVERYONE.slice(0, 2),
  'one letter, nobody': '#',
  'one letter, every user': TERM_OF_EVERYONE.slice(0, 1),
  'two words, rare': `${RARE_TERMS.first_name} ${RARE_TERMS.last_name}`,
  'two words, one user in a hundred': `${FREQUENT_TERMS.first_name} ${FREQUENT_TERMS.last_name}`,
  'two words, nobody': `${FREQUENT_TERMS.first_name} ${RARE_TERMS.last_name}`,
  'two words of two letters': `${FREQUENT_TERMS.first_name.slice(0, 2)} ${FREQUENT_TERMS.last_name.slice(0, 2)}`,
}

type Lists = Readonly<Record<string, (users: number) => string[]>>

/** The other lists, and the pages of each. A search for keys looks for owners too. */
const LISTS: Lists = {
  'keys by prefix': (users) => [middle(users), 1].map((number) => keysOf(keyBeginningOf(number))),
  'keys by name': (users) => [keysOf(KEY_NAMES[0] ?? ''), keysOf(`${KEY_NAMES[1]} ${middle(users)}`)],
  'keys by owner': (users) => [keysOf(personOf(middle(users)).email)],
  'keys, newest': (users) => ['/console/keys', `/console/keys?below=${middle(users)}`],
  'mail history, newest': (users) => ['/console/mail', `/console/mail?past=${middle(users)}`],
  'mail history, one address': (users) => [`/console/mail?${new URLSearchParams({ to: personOf(middle(users)).email })}`],
  'one user': (users) => [`/console/users/${middle(users)}`],
  'audit trail, one address': (users) => [`/console/audit?${new URLSearchParams({ target: personOf(middle(users)).email })}`],
}
const middle = (users: number) => Math.ceil(users / 2)
const keysOf = (term: string) => `/console/keys?${new URLSearchParams({ q: term })}`

type Sort = (typeof SORTS)[number]

/** The slowest page of one kind: of all statuses, on the first page and on one in the middle and, for a search, of all orders. */
export type PageFigures = Compared & { readonly kind: 'users' | 'search' | 'list'; readonly name: string }

/** Measures /console/users with every order and status, and the other lists, with many users and with few, alternating. */
export async function measurePages(many: Populated, few: Populated, admin: { email: string; password: string }): Promise<PageFigures[]> {
  const cookieOf = async ({ url }: Populated) => signIn(url, admin.email, admin.password)
  const cookies = new Map([
    [many, await cookieOf(many)],
    [few, await cookieOf(few)],
  ])

  async function slowest(rounds: number, pagesOf: (users: number) => string[]): Promise<Compared> {
    const compared: Compared[] = []
    for (const place of pagesOf(many.users).keys())
      compared.push(
        await compare(rounds, many, few, async (service) => {
          const asked = { path: pagesOf(service.users)[place] ?? '', cookie: cookies.get(service) }
          return (await ask(service.url, asked).catch(lateOnly)) ?? { tookMs: Number.POSITIVE_INFINITY }
        }),
      )
    return compared.reduce((one, other) => (other.latency.p50Ms > one.latency.p50Ms ? other : one))
  }

  const figures: PageFigures[] = []
  for (const sort of SORTS) figures.push({ kind: 'users', name: sort, ...(await slowest(ROUNDS, (users) => urlsOf(sort, '', users))) })
  for (const [name, term] of Object.entries(TERMS))
    figures.push({
      kind: 'search',
      name,
      ...(await slowest(ROUNDS_OF_SEARCHES, (users) => SORTS.flatMap((sort) => urlsOf(sort, term, users)))),
    })
  for (const [name, pagesOf] of Object.entries(LISTS)) figures.push({ kind: 'list', name, ...(await slowest(ROUNDS, pagesOf)) })
  return figures
}

function urlsOf(sort: Sort, term: string, users: number): string[] {
  const after = placeOf(sort, Math.ceil(users / 2))
  return STATUSES.flatMap((status) => {
    const first = `/console/users?${new URLSearchParams({ sort, status, q: term })}`
    return [first, `${first}&after=${after}`]
  })
}

/** The place of a user, as the links of the page have it. */
function placeOf(sort: Sort, number: number): string {
  const key = sort === 'email' ? personOf(number).email : sort === 'signed-in' ? (lastLoginOf(number) ?? 0) : createdAtOf(number)
  return Buffer.from(JSON.stringify([key, number])).toString('base64url')
}
