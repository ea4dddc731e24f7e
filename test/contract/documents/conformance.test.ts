import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { areaOf, sectionName } from '../../../src/cli/conformance/check.ts'
import { ALL_CHECKS } from '../../../src/cli/conformance/checks/all-checks.ts'
import { ACCESS_DEFECTS } from '../../support/conformance/access-defects.ts'
import { ACCOUNT_DEFECTS } from '../../support/conformance/account-defects.ts'
import { ROOT, read, rows } from '../../support/documents.ts'

const PAGE = 'docs/conformance.md'
const HEADING = '## The checks\n'
const DEFECTS = [...ACCOUNT_DEFECTS, ...ACCESS_DEFECTS]

/** A table for each section of the specification, in its order. */
function tables(): string {
  const sections = Map.groupBy(ALL_CHECKS, ({ section }) => section.split(' ')[0] ?? '')
  const inOrder = [...sections].sort(([one], [other]) => one.localeCompare(other, 'en', { numeric: true }))
  return inOrder
    .map(([section, checks]) => {
      const lines = checks.map(({ id, section: full, title, level, needsMailbox }) => {
        const rule = full.split(' ').slice(1).join(' ')
        return `| \`${id}\` | ${rule} | ${title.replaceAll('|', '\\|')} | ${level === 'choice' ? 'choice' : ''} | ${needsMailbox ? 'yes' : ''} |`
      })
      return [
        `### ${section} ${sectionName(section)}`,
        '',
        '| Check | Rule | What holds | Level | Mailbox |',
        '|---|---|---|---|---|',
        ...lines,
        '',
      ].join('\n')
    })
    .join('\n')
}

test('every check has an id of its own, an area, a title and a section of the specification', () => {
  assert.equal(new Set(ALL_CHECKS.map(({ id }) => id)).size, ALL_CHECKS.length)
  for (const check of ALL_CHECKS) {
    assert.match(check.id, /^[a-z]+(?:-[a-z]+)*\.[a-z0-9]+(?:-[a-z0-9]+)*$/)
    assert.match(check.section, /^\d(?:\.\d)?(?: rule \d)?$/)
    assert.notEqual(sectionName(check.section), '', check.section)
    assert.ok(areaOf(check).length > 0 && check.title.length > 10, check.id)
  }
})

test('docs/conformance.md lists every check by section, and no other', () => {
  const [text = ''] = read(PAGE).split(HEADING)
  const expected = `${text}${HEADING}\n${tables()}`
  if (process.env['UPDATE_DOCS'] === 'true') writeFileSync(join(ROOT, PAGE), expected)
  assert.equal(read(PAGE), expected, 'run it with UPDATE_DOCS=true to write the list')
  assert.ok(read(PAGE).includes(`${ALL_CHECKS.length} checks`), `the page should say that there are ${ALL_CHECKS.length} checks`)
})

test('docs/conformance.md lists every planted defect with the check that finds it', () => {
  if (process.env['UPDATE_DOCS'] === 'true') {
    const lines = DEFECTS.map(({ name, check }) => `| ${name} | \`${check}\` |`)
    const table = /(\| Defect \|.*\n\|---\|---\|\n)[\s\S]*?(?=\n## )/
    writeFileSync(
      join(ROOT, PAGE),
      read(PAGE).replace(table, (_, heading: string) => `${heading}${lines.join('\n')}\n`),
    )
  }
  assert.deepEqual(
    rows(PAGE, 'Planted defects'),
    DEFECTS.map(({ name, check }) => [name, check]),
  )
  assert.equal(new Set(DEFECTS.map(({ name }) => name)).size, DEFECTS.length)
})
