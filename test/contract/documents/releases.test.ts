import assert from 'node:assert/strict'
import { test } from 'node:test'
import { read } from '../../support/documents.ts'

const HEADING = /^## (Unreleased|\d+\.\d+\.\d+)(?: \((\d{4}-\d{2}-\d{2})\))?$/gm

function releases(): string[] {
  return [...read('CHANGELOG.md').matchAll(HEADING)].map(([, version = '']) => version).filter((version) => version !== 'Unreleased')
}

test('the newest version in CHANGELOG.md is the one of the package', () => {
  const { version } = JSON.parse(read('package.json'))
  assert.equal(releases()[0], version)
})

test('the release that upgrades are tested from is the one before', () => {
  const previous = JSON.parse(read('test/fixtures/previous-release.json'))
  assert.equal(previous.version, releases()[1])
  assert.match(previous.commit, /^[0-9a-f]{40}$/)
})

test('both packages, the example and the documents name the version of the package', () => {
  const { version } = JSON.parse(read('package.json'))
  const named = {
    client: JSON.parse(read('packages/client/package.json')).version,
    conformance: JSON.parse(read('packages/conformance/package.json')).version,
    example: JSON.parse(read('examples/notes/package.json')).dependencies['@latchkey/client'],
    webhooks: /^user-agent: Latchkey\/(.*)$/m.exec(read('docs/webhooks.md'))?.[1],
    landing: /description: 'The version of the service\.', examples: \['(.*?)'\]/.exec(read('src/http/web/landing.routes.ts'))?.[1],
  }
  assert.deepEqual(named, { client: version, conformance: version, example: `^${version}`, webhooks: version, landing: version })
})
