import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { SearchField, UserSearch } from '../../../../src/model/user.ts'
import { statement } from '../../../../src/storage/database.ts'
import { fold } from '../../../../src/storage/repositories/users/user.repository.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { insertUsers, type Person } from '../../../support/databases/users.ts'

const DELETE_ALL_USERS = statement('delete from users')

// Letters whose case mappings have one, two or three characters, look-alikes, characters beyond 16 bits, combining marks, and characters
// with a meaning in SQL or FTS.
const CHARACTERS = [
  ...'aAbBeEiIsSkK',
  ...'ßẞıİΣσςÄäÉéЖжЯяÅå',
  ...'漢字あア한글',
  '𐐔',
  '𐐼',
  '🔑',
  'e\u0301',
  'ﬁ',
  'ǅ',
  ...'%_\\"\'*^(){}:+-.,&|~@ ',
]
const LOCAL_PART_CHARACTERS = [..."aAbBsSkK019%_'*{}|~^+-&"]

function textOf(characters: readonly string[], maxLength: number): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength })
}

const NAME = textOf(CHARACTERS, 9).filter((name) => name === name.trim())
const PEOPLE: fc.Arbitrary<Person[]> = fc
  .array(fc.record({ email: textOf(LOCAL_PART_CHARACTERS, 9).map((local) => `${local}@Example.com`), firstName: NAME, lastName: NAME }), {
    minLength: 1,
    maxLength: 60,
  })
  .map((people) => people.filter(({ email }, n) => people.findIndex((other) => other.email.toLowerCase() === email.toLowerCase()) === n))

/** A search term: a part of a field of some user, with its case changed, or arbitrary text. */
const TERM = fc.oneof(
  { weight: 3, arbitrary: fc.record({ person: fc.nat(), field: fc.nat(2), from: fc.nat(9), length: fc.nat(9), cased: fc.nat(2) }) },
  { weight: 1, arbitrary: textOf(CHARACTERS, 4) },
)
const SEARCH = fc.record({
  term: TERM,
  field: fc.constantFrom<SearchField>('all', 'email', 'firstName', 'lastName'),
  isExact: fc.boolean(),
  page: fc.integer({ min: 1, max: 4 }),
  size: fc.constantFrom(1, 2, 7, 50, 100),
})

function termFrom(
  people: readonly Person[],
  source: string | { person: number; field: number; from: number; length: number; cased: number },
): string {
  if (typeof source === 'string') return source
  const { email = '', firstName = '', lastName = '' } = people[source.person % people.length] ?? {}
  const field = [email, firstName, lastName][source.field] ?? ''
  const part = Array.from(field)
    .slice(source.from % 5, (source.from % 5) + source.length + 1)
    .join('')
  return [part, part.toUpperCase(), part.toLowerCase()][source.cased] ?? part
}

/** The expected result, computed with a plain filter. */
function expected(people: readonly Person[], { term, field, isExact, page, size }: UserSearch): { total: number; positions: number[] } {
  const wanted = fold(term)
  const matches = (text: string) => wanted === '' || (isExact ? fold(text) === wanted : fold(text).includes(wanted))
  const positions = people.flatMap((person, position) => {
    const texts = field === 'all' ? [person.email, person.firstName, person.lastName] : [person[field]]
    return texts.some(matches) ? [position] : []
  })
  return { total: positions.length, positions: positions.slice((Number(page) - 1) * size, Number(page) * size) }
}

test('both databases return the same users as a plain filter, for every script, field, mode and page', async (t) => {
  const databases: TestApp[] = [await startApp(t, { database: 'sqlite' }), await startApp(t, { database: 'postgres' })]
  await fc.assert(
    fc.asyncProperty(PEOPLE, fc.array(SEARCH, { minLength: 60, maxLength: 60 }), async (people, searches) => {
      for (const testApp of databases) {
        await testApp.db.run(DELETE_ALL_USERS)
        const ids = await insertUsers(testApp, people)
        for (const search of searches) {
          const asked = { ...search, term: termFrom(people, search.term) }
          const { total, users } = await testApp.services.userAdministration.search(asked)
          const found = { total, positions: users.map(({ id }) => ids.indexOf(id)) }
          assert.deepEqual(found, expected(people, asked), `${testApp.config.database.kind}: ${JSON.stringify(asked)}`)
        }
      }
    }),
    { numRuns: 12, endOnFailure: true },
  )
})
