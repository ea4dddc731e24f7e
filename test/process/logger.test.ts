import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogger } from '../../src/process/logger.ts'

const SECRET = 'hunter22'
const NAMES = ['authorization', 'x-api-key', 'password', 'new_password', 'token', 'refresh', 'key', 'secretKey']

function logged(value: object): string {
  const lines: string[] = []
  createLogger('info', { write: (line) => void lines.push(line) }).info(value, 'said')
  return lines.join('')
}

test('a credential that is logged by mistake is redacted, down to two levels', () => {
  for (const name of NAMES) {
    for (const value of [{ [name]: SECRET }, { headers: { [name]: SECRET } }, { request: { headers: { [name]: SECRET } } }]) {
      const line = logged(value)
      assert.doesNotMatch(line, new RegExp(SECRET), `${name} in ${JSON.stringify(value)}`)
      assert.match(line, /\[hidden\]/)
    }
  }
})

test('the code of a request is redacted, and the code of an error is not', () => {
  for (const value of [{ code: SECRET }, { query: { code: SECRET } }, { body: { code: SECRET } }])
    assert.doesNotMatch(logged(value), new RegExp(SECRET))
  assert.match(logged({ err: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) }), /ECONNREFUSED/)
})

test('an error of the database is logged with its message and code, and without rows', () => {
  for (const name of ['detail', 'hint', 'where', 'query', 'parameters', 'args', 'internal_query']) {
    const line = logged({
      err: Object.assign(new Error('violates a constraint'), { code: '23514', [name]: [`Failing row contains (${SECRET})`] }),
    })
    assert.doesNotMatch(line, new RegExp(SECRET), name)
    assert.match(line, /violates a constraint.*"code":"23514"/)
  }
})

test('a line is one JSON object with level, time, process and message, and a value cannot break it', () => {
  const line = logged({ email: 'a\nb"}' })
  assert.equal(line.indexOf('\n'), line.length - 1)
  const { level, time, pid, email, msg } = JSON.parse(line) as Record<string, unknown>
  assert.deepEqual([level, pid, email, msg], [30, process.pid, 'a\nb"}', 'said'])
  assert.equal(new Date(String(time)).toISOString(), time)
})

test('lines below the level are not logged', () => {
  const lines: string[] = []
  const logger = createLogger('warn', { write: (line) => void lines.push(line) })
  logger.info('unheard')
  logger.warn('heard')
  assert.equal(lines.length, 1)
})
