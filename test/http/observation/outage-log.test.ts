import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOutageLog } from '../../../src/http/pipeline/request-log.ts'
import { createLogger } from '../../../src/process/logger.ts'

type Line = { readonly requestId: string; readonly route: string; readonly reason: string; readonly others: number; readonly msg: string }

function outages() {
  const lines: Line[] = []
  let nowMs = 0
  const tell = createOutageLog(createLogger('error', { write: (line) => void lines.push(JSON.parse(line)) }), () => nowMs)
  return {
    lines,
    refuse: (id: string, reason: string) => tell({ id, routeOptions: { url: '/login/' } as never }, new Error(reason)),
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

test('an outage is logged once a second for each reason, with the number of requests in between', () => {
  const { lines, refuse, pass } = outages()
  for (const id of ['a', 'b', 'c']) refuse(id, 'the password queue is full')
  refuse('d', 'the database is away')
  pass(999)
  refuse('e', 'the password queue is full')
  pass(1)
  refuse('f', 'the password queue is full')
  pass(60_000)
  refuse('g', 'the database is away')
  assert.deepEqual(
    lines.map(({ requestId, reason, others }) => [requestId, reason, others]),
    [
      ['a', 'the password queue is full', 0],
      ['d', 'the database is away', 0],
      ['f', 'the password queue is full', 3],
      ['g', 'the database is away', 0],
    ],
  )
  assert.deepEqual([lines[0]?.route, lines[0]?.msg], ['/login/', 'unavailable'])
})

test('arbitrary reasons do not fill the memory: the oldest are dropped, and logged again', () => {
  const { lines, refuse } = outages()
  for (let n = 0; n <= 100; n++) refuse('a', `reason ${n}`)
  refuse('b', 'reason 0')
  refuse('c', 'reason 100')
  assert.deepEqual(
    lines.slice(100).map(({ requestId, reason }) => [requestId, reason]),
    [
      ['a', 'reason 100'],
      ['b', 'reason 0'],
    ],
  )
})
