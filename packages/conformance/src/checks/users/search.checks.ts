import { check, choice } from '../../check.ts'
import type { Answer } from '../../client.ts'
import type { Context } from '../../context.ts'
import {
  expectEqual,
  expectFields,
  expectInvalid,
  expectNoSecrets,
  expectThat,
  FULL_VIEW,
  type JsonObject,
  jsonObject,
} from '../../expect.ts'

const ENVELOPE = { total: 'integer', page: 'integer', size: 'integer', pages: 'integer' } as const

type Query = Readonly<Record<string, string | number>>

const search = ({ call, operator }: Context, query: Query) => call('GET', '/users/search', { as: operator, query })

function itemsOf(answer: Answer): readonly JsonObject[] {
  const { items } = jsonObject(answer, 200)
  if (Array.isArray(items)) return items as JsonObject[]
  throw new TypeError('items is not an array')
}

async function emailsOf(context: Context, query: Query): Promise<string[]> {
  return itemsOf(await search(context, query)).map(({ email }) => String(email))
}

/** Five accounts with a word of their own as first or last name. Registered once for all checks of a run. */
type Family = { readonly first: string; readonly last: string; readonly emails: readonly string[] }
const families = new WeakMap<Context['shared'], Promise<Family>>()

function family(context: Context): Promise<Family> {
  const known = families.get(context.shared)
  if (known !== undefined) return known
  const word = context.marker.replace(/[^a-z0-9]/g, '').slice(-8)
  const first = `Given${word}`
  const last = `Family${word}`
  const emails = Array.from({ length: 5 }, context.address)
  const creating = Promise.all(emails.map((email) => context.register({ email, firstName: first, lastName: last }))).then(() => ({
    first,
    last,
    emails,
  }))
  families.set(context.shared, creating)
  return creating
}

/** Values that are out of range, or of another type. */
const INVALID: Readonly<Record<string, Query>> = {
  'size-0': { size: 0 },
  'size-101': { size: 101 },
  'size-negative': { size: -1 },
  'size-text': { size: 'many' },
  'page-0': { page: 0 },
  'page-negative': { page: -1 },
  'page-text': { page: 'first' },
  'field-unknown': { field: 'password' },
  'exact-match-text': { exact_match: 'perhaps' },
}

const LIMITS: Readonly<Record<string, Query>> = { 'size-1': { size: 1 }, 'size-100': { size: 100 }, 'page-1': { page: 1 } }

export const SEARCH_CHECKS = [
  check('search.envelope', '4.3', 'a search returns items, total, page, size and pages', async (context) => {
    const answer = await search(context, { search_term: (await family(context)).first })
    expectFields(jsonObject(answer, 200), ENVELOPE, answer)
    expectEqual('items', itemsOf(answer).length, 5, answer)
  }),
  check('search.full-view', '2.1', 'items are full views', async (context) => {
    const answer = await search(context, { search_term: (await family(context)).first })
    for (const user of itemsOf(answer)) expectFields(user, FULL_VIEW, answer)
  }),
  check('search.no-secrets', '2.1', 'items contain no password and no hash', async (context) => {
    expectNoSecrets(await search(context, { search_term: (await family(context)).first }))
  }),
  check('search.defaults', '8', 'page is 1 and size is 50 by default', async (context) => {
    const answer = await search(context, { search_term: (await family(context)).first })
    const { page, size } = jsonObject(answer, 200)
    expectEqual('page and size', [page, size], [1, 50], answer)
  }),
  check('search.total', '4.3', 'total and pages count all matches', async (context) => {
    const answer = await search(context, { search_term: (await family(context)).first, size: 2 })
    const { total, page, size, pages } = jsonObject(answer, 200)
    expectEqual('total, page, size and pages', [total, page, size, pages], [5, 1, 2, 3], answer)
  }),
  check('search.size', '4.3', 'a page has size items', async (context) => {
    const answer = await search(context, { search_term: (await family(context)).first, size: 2 })
    expectEqual('items', itemsOf(answer).length, 2, answer)
  }),
  check('search.pages', '4.3', 'the pages together contain each match once', async (context) => {
    const { first, emails } = await family(context)
    const pages = await Promise.all([1, 2, 3].map((page) => emailsOf(context, { search_term: first, size: 2, page })))
    expectEqual('the addresses of three pages', pages.flat().sort(), [...emails].sort())
  }),
  check('search.last-page', '4.3', 'the last page has the rest', async (context) => {
    const answer = await search(context, { search_term: (await family(context)).first, size: 2, page: 3 })
    expectEqual('items and page', [itemsOf(answer).length, jsonObject(answer, 200)['page']], [1, 3], answer)
  }),
  check('search.partial', '4.3', 'a part of a field matches', async (context) => {
    const { first, emails } = await family(context)
    expectEqual('the addresses', (await emailsOf(context, { search_term: first.slice(2, -1) })).sort(), [...emails].sort())
  }),
  check('search.all-fields', '4.3', 'all fields are searched by default: email, first_name and last_name', async (context) => {
    const { first, last, emails } = await family(context)
    const [email = ''] = emails
    for (const term of [first, last, email])
      expectThat((await emailsOf(context, { search_term: term })).includes(email), `${email} for ${term}`, 'other results')
  }),
  check('search.field-all', '4.3', 'field=all searches all fields', async (context) => {
    const { last } = await family(context)
    expectEqual('results', (await emailsOf(context, { search_term: last, field: 'all' })).length, 5)
  }),
  check('search.field-email', '4.3', 'field=email searches the e-mail address only', async (context) => {
    const { first, emails } = await family(context)
    expectEqual('results for a name', await emailsOf(context, { search_term: first, field: 'email' }), [])
    expectEqual('results for an address', await emailsOf(context, { search_term: emails[0] ?? '', field: 'email' }), [emails[0]])
  }),
  check('search.field-first-name', '4.3', 'field=first_name searches the first name only', async (context) => {
    const { first, last } = await family(context)
    const found = await Promise.all([first, last].map((term) => emailsOf(context, { search_term: term, field: 'first_name' })))
    expectEqual(
      'results for a first and a last name',
      found.map(({ length }) => length),
      [5, 0],
    )
  }),
  check('search.field-last-name', '4.3', 'field=last_name searches the last name only', async (context) => {
    const { first, last } = await family(context)
    const found = await Promise.all([first, last].map((term) => emailsOf(context, { search_term: term, field: 'last_name' })))
    expectEqual(
      'results for a first and a last name',
      found.map(({ length }) => length),
      [0, 5],
    )
  }),
  check('search.exact', '4.3', 'exact_match=true matches a whole field', async (context) => {
    const { emails } = await family(context)
    expectEqual('the addresses', await emailsOf(context, { search_term: emails[1] ?? '', field: 'email', exact_match: 'true' }), [
      emails[1],
    ])
  }),
  check('search.exact-part', '4.3', 'exact_match=true does not match a part of a field', async (context) => {
    const { first } = await family(context)
    expectEqual('the addresses', await emailsOf(context, { search_term: first.slice(0, -1), exact_match: 'true' }), [])
  }),
  check('search.nothing', '4.3', 'a term that matches nobody returns no items and total 0', async (context) => {
    const answer = await search(context, { search_term: `${context.marker}-nobody` })
    expectEqual('items and total', [itemsOf(answer).length, jsonObject(answer, 200)['total']], [0, 0], answer)
  }),
  check('search.term-missing', '4.3', 'no search_term is answered with 422', async (context) => {
    expectInvalid(await search(context, {}))
  }),
  ...Object.entries(INVALID).map(([name, query]) =>
    check(`search.${name}`, '8', `${new URLSearchParams(query as Record<string, string>)} is answered with 422`, async (context) => {
      expectInvalid(await search(context, { search_term: context.marker, ...query }))
    }),
  ),
  ...Object.entries(LIMITS).map(([name, query]) =>
    check(`search.${name}`, '8', `${new URLSearchParams(query as Record<string, string>)} is accepted`, async (context) => {
      const { page, size } = { page: 1, size: 50, ...query }
      const answer = await search(context, { search_term: context.marker, ...query })
      const received = jsonObject(answer, 200)
      expectEqual('page and size', [received['page'], received['size']], [page, size], answer)
    }),
  ),
  choice('search.case', '4.3', 'upper and lower case do not matter', async (context) => {
    const { first } = await family(context)
    expectEqual('results', (await emailsOf(context, { search_term: first.toUpperCase() })).length, 5)
  }),
  choice('search.wildcards', '4.3', '% and _ are ordinary characters', async (context) => {
    const { first } = await family(context)
    for (const term of [first.replace('n', '_'), first.replace('v', '%')])
      expectEqual(`results for ${term}`, await emailsOf(context, { search_term: term }), [])
  }),
  choice('search.past-the-end', '4.3', 'a page past the end is empty', async (context) => {
    const answer = await search(context, { search_term: (await family(context)).first, size: 2, page: 4 })
    expectEqual('items and total', [itemsOf(answer).length, jsonObject(answer, 200)['total']], [0, 5], answer)
  }),
  choice('search.order', '4.3', 'results are in order of id', async (context) => {
    const answer = await search(context, { search_term: (await family(context)).first })
    const ids = itemsOf(answer).map(({ id }) => Number(id))
    expectEqual(
      'the ids',
      ids,
      ids.toSorted((one, other) => one - other),
      answer,
    )
  }),
]
