import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandFor } from '../../src/shared/program.ts'

test('the command works as typed: from a clone, from an installation, from an image and from any other folder', () => {
  const source = 'file:///srv/clone/src/shared/command.ts'
  assert.equal(commandFor('/srv/clone', source), 'npm run latchkey --')
  assert.equal(commandFor('/srv/data', source), 'node /srv/clone/src/cli/latchkey.ts')
  const installed = 'file:///srv/site/node_modules/latchkey/dist/shared/command.js'
  assert.equal(commandFor('/srv/site', installed), 'npx latchkey')
  assert.equal(commandFor('/srv/data', installed), 'node /srv/site/node_modules/latchkey/dist/cli/latchkey.js')
  assert.equal(commandFor('/', 'file:///app/dist/shared/command.js'), 'node /app/dist/cli/latchkey.js')
  assert.equal(commandFor('/', 'file:///my%20apps/dist/shared/command.js'), 'node "/my apps/dist/cli/latchkey.js"')
})
