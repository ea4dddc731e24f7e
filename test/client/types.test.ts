import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientTypes } from '../../scripts/client-types.ts'
import { ROOT, read, rows } from '../support/documents.ts'
import { readApiDocument } from '../support/http/openapi.ts'

const FILE = 'packages/client/src/api.ts'

test('the types of the client are those of the OpenAPI document', async (t) => {
  const types = await clientTypes(await readApiDocument(t))
  if (process.env['UPDATE_TYPES'] === 'true') writeFileSync(join(ROOT, FILE), types)
  assert.equal(read(FILE), types, `${FILE} is out of date: run \`npm run client:types\``)
})

test('the client knows the codes of errors before routing and of proxies', () => {
  const types = read(FILE)
  const documented = [...rows('docs/errors.md', 'Other errors'), ...rows('docs/errors.md', 'Errors of a proxy')]
  assert.ok(documented.length > 10)
  for (const [, , code] of documented) assert.match(types, new RegExp(`\\| '${code}'`))
})

test('the client has the version of the service', () => {
  const versionIn = (file: string) => JSON.parse(read(file)).version
  assert.equal(versionIn('packages/client/package.json'), versionIn('package.json'))
})
