import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/load.ts'
import { checkPosture } from '../../src/doctor/examine.ts'

const PUBLIC = { BASE_URL: 'https://accounts.example.com' }
const STRONG = { RATE_LIMITS: 'standard', PASSWORD_BLOCKLIST: 'common', CORS_ORIGINS: 'https://app.example.com', SECOND_FACTOR: 'admins' }

const namesIn = (env: Record<string, string>) => checkPosture(loadConfig(env)).map(({ message }) => message.split(' ')[0])

test('a public service is warned about each weak setting, and a service of this machine about none', () => {
  assert.deepEqual(namesIn({}), [])
  assert.deepEqual(namesIn({ BASE_URL: 'http://127.0.0.1:8000' }), [])
  assert.deepEqual(namesIn(PUBLIC), Object.keys(STRONG))
  assert.deepEqual(namesIn({ ...PUBLIC, ...STRONG }), [])
  for (const [name, value] of Object.entries(STRONG)) {
    const others = Object.keys(STRONG).filter((other) => other !== name)
    assert.deepEqual(namesIn({ ...PUBLIC, [name]: value }), others)
  }
  assert.ok(checkPosture(loadConfig(PUBLIC)).every(({ verdict, advice }) => verdict === 'warning' && advice?.startsWith('Set ')))
})
