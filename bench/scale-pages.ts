import { ask, signIn } from './client.ts'
import { ONE_PERCENT_TERM, personOf } from './people.ts'
import { createdAtOf, lastLoginOf } from './population.ts'
import { type Compared, compare, type Populated } from './scale-hot-path.ts'

const SORTS = ['newest', 'oldest', 'email', 'signed-in'] as const
const STATUSES = ['', 'active', 'unverified', 'banned', 'admin'] as const
const ROUNDS = 20

type Sort = (typeof SORTS)[number]

/** `list` is the slowest of all statuses and of the first page and one in the middle; `search` is the first page of a search. */
export type PageFigures = Compared & { readonly sort: Sort; readonly kind: 'list' | 'search' }

/** Measures /console/users with every order and status, with many users and with few, alternating. */
export async function measurePages(many: Populated, few: Populated, admin: { email: string; password: string }): Promise<PageFigures[]> {
  const cookieOf = async ({ url }: Populated) => signIn(url, admin.email, admin.password)
  const cookies = new Map([
    [many, await cookieOf(many)],
    [few, await cookieOf(few)],
  ])
  const figures: PageFigures[] = []
  for (const sort of SORTS) {
    for (const kind of ['list', 'search'] as const) {
      const compared: Compared[] = []
      for (const place of urlsOf(kind, sort, many.users).keys())
        compared.push(
          await compare(ROUNDS, many, few, (service) =>
            ask(service.url, { path: urlsOf(kind, sort, service.users)[place] ?? '', cookie: cookies.get(service) }),
          ),
        )
      figures.push({ sort, kind, ...compared.reduce((one, other) => (other.latency.p50Ms > one.latency.p50Ms ? other : one)) })
    }
  }
  return figures
}

function urlsOf(kind: PageFigures['kind'], sort: Sort, users: number): string[] {
  if (kind === 'search') return [`/console/users?sort=${sort}&q=${ONE_PERCENT_TERM}`]
  const after = placeOf(sort, Math.ceil(users / 2))
  return STATUSES.flatMap((status) => {
    const first = `/console/users?sort=${sort}&status=${status}`
    return [first, `${first}&after=${after}`]
  })
}

/** The place of a user, as the links of the page have it. */
function placeOf(sort: Sort, number: number): string {
  const key = sort === 'email' ? personOf(number).email : sort === 'signed-in' ? (lastLoginOf(number) ?? 0) : createdAtOf(number)
  return Buffer.from(JSON.stringify([key, number])).toString('base64url')
}
