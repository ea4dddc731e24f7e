import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACCESS_DEFECTS } from '../../packages/conformance/defects/access-defects.ts'
import { ACCOUNT_DEFECTS } from '../../packages/conformance/defects/account-defects.ts'
import { areaOf, sectionName } from '../../packages/conformance/src/check.ts'
import { ALL_CHECKS } from '../../packages/conformance/src/checks/all-checks.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { read } from '../support/documents.ts'
import { runLatchkey } from '../support/processes/command-line.ts'

const DEFECTS = [...ACCOUNT_DEFECTS, ...ACCESS_DEFECTS]

test('every check has an id of its own, an area, a title and a section of the specification', () => {
  assert.equal(new Set(ALL_CHECKS.map(({ id }) => id)).size, ALL_CHECKS.length)
  for (const check of ALL_CHECKS) {
    assert.match(check.id, /^[a-z]+(?:-[a-z]+)*\.[a-z0-9]+(?:-[a-z0-9]+)*$/)
    assert.match(check.section, /^\d(?:\.\d)?(?: rule \d)?$/)
    assert.notEqual(sectionName(check.section), '', check.section)
    assert.ok(areaOf(check).length > 0 && check.title.length > 10, check.id)
  }
})

test('conformance --list prints every check once, with its level and whether it needs a mailbox', async (t) => {
  const { code, stdout, stderr } = await runLatchkey(['conformance', '--list'], { cwd: temporaryFolder(t) })
  assert.deepEqual([code, stderr], [0, ''])
  const listed = stdout.split('\n').filter((line) => line.startsWith('  '))
  const expected = ALL_CHECKS.map(({ id, title, level, needsMailbox }) => {
    const notes = [...(level === 'choice' ? ['choice'] : []), ...(needsMailbox ? ['needs a mailbox'] : [])]
    return `  ${id}: ${title}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`
  })
  assert.deepEqual(listed.toSorted(), expected.toSorted())
  assert.ok(
    read('docs/conformance.md').includes(`${ALL_CHECKS.length} checks`),
    `the page should say that there are ${ALL_CHECKS.length} checks`,
  )
})

test('every planted defect has a name of its own, and names a check that exists', () => {
  assert.equal(new Set(DEFECTS.map(({ name }) => name)).size, DEFECTS.length)
  const ids = new Set(ALL_CHECKS.map(({ id }) => id))
  assert.deepEqual(
    DEFECTS.filter(({ check }) => !ids.has(check)),
    [],
  )
})
