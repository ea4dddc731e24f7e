import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  claimAmount,
  endRound,
  enter,
  grant,
  isForgettable,
  isLow,
  isOver,
  isRefused,
  learn,
  newShare,
  remaining,
  type Share,
} from '../../../src/domain/plans/shares.ts'
import type { WindowState } from '../../../src/model/usage.ts'

const MINUTE = 60_000

/** The row of the database, with the rule of its statements. */
function createRow() {
  let row: WindowState | undefined
  return {
    read: () => row,
    claim(amount: number, count: number, now: number): WindowState | undefined {
      if (row === undefined || row.endsAt <= now) row = { endsAt: now + MINUTE, used: 0 }
      if (row.used + amount > count) return undefined
      row = { ...row, used: row.used + amount }
      return row
    },
    giveBack(endsAt: number, amount: number): WindowState | undefined {
      if (row?.endsAt !== endsAt) return undefined
      row = { ...row, used: row.used - amount }
      return row
    },
  }
}

/** One request in one process, as counting.ts handles it. Returns whether it passes. */
function request(share: Share, row: ReturnType<typeof createRow>, cost: number, count: number, now: number): boolean {
  const limit = { count }
  for (let attempt = 0; attempt < 4; attempt++) {
    enter(share, now)
    if (share.held >= cost && !isOver(share, cost, limit)) {
      share.held -= cost
      share.spent += cost
      return true
    }
    if (isRefused(share, cost, limit, now)) return false
    const amount = claimAmount(share, attempt === 0 ? cost - share.held : 1, limit)
    const state = row.claim(amount, count, now)
    const found = row.read()
    if (state !== undefined) grant(share, state, amount)
    else if (found !== undefined) {
      learn(share, found)
      share.refusedAt = now
    }
  }
  return false
}

const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('request' as const), by: fc.nat(3), cost: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('round' as const), by: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), by: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 20_000 }) }) },
)

/** Four processes, whose clocks differ by up to a second. */
function createStage(count: number) {
  const row = createRow()
  const processes = Array.from({ length: 4 }, () => newShare('u1', MINUTE))
  const skews = [0, 400, -600, 1000]
  const passed = new Map<number, number>()
  let now = 1_000_000

  function endRoundOf(share: Share): void {
    const amount = endRound(share)
    share.held -= amount
    const state = amount > 0 ? row.giveBack(share.endsAt, amount) : undefined
    if (state !== undefined) share.used = state.used
  }

  return {
    passed,
    wait(ms: number): void {
      now += ms
    },
    kill(by: number): void {
      processes[by] = newShare('u1', MINUTE)
    },
    act(by: number, cost: number | undefined): void {
      const share = processes[by] ?? assert.fail()
      const at = now + (skews[by] ?? 0)
      enter(share, at)
      if (cost === undefined) endRoundOf(share)
      else if (request(share, row, cost, count, at)) passed.set(share.endsAt, (passed.get(share.endsAt) ?? 0) + cost)
      assert.ok(share.held >= 0 && remaining(share, { count }) >= 0 && remaining(share, { count }) <= count)
    },
  }
}

test('whatever processes do, no more passes in a window than the limit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.array(step, { minLength: 1, maxLength: 400 }), (count, steps) => {
      const stage = createStage(count)
      for (const one of steps) {
        if (one.kind === 'wait') stage.wait(one.ms)
        else if (one.kind === 'kill') stage.kill(one.by)
        else stage.act(one.by, one.kind === 'request' ? one.cost : undefined)
      }
      for (const [endsAt, sum] of stage.passed) assert.ok(sum <= count, `${sum} of ${count} passed until ${endsAt}`)
    }),
    { numRuns: 500 },
  )
})

test('a single process lets exactly the limit pass, with few claims', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20_000 }), (count) => {
      const row = createRow()
      const share = newShare('u1', MINUTE)
      let claims = 0
      const counted = {
        ...row,
        claim(...values: Parameters<typeof row.claim>) {
          claims++
          return row.claim(...values)
        },
      }
      let passed = 0
      while (passed <= count && request(share, counted, 1, count, 1_000_000)) passed++
      assert.equal(passed, count)
      assert.ok(claims <= 70 + 64 * Math.log(Math.max(1, count / 64)) + 20, `${claims} claims for ${count}`)
    }),
    { numRuns: 100 },
  )
})

test('four processes at once leave at most a few requests of a large limit unused', () => {
  const [row, count] = [createRow(), 6000]
  const processes = Array.from({ length: 4 }, () => newShare('u1', MINUTE))
  let passed = 0
  for (let index = 0; index < 3 * count; index++) {
    const share = processes[index % 4] ?? assert.fail()
    if (request(share, row, 1, count, 1_000_000)) passed++
  }
  assert.equal(passed, count)
})

test('a key that is used evenly costs about one write a round', () => {
  const [row, share, count] = [createRow(), newShare('u1', MINUTE), 1_000_000]
  const rounds = 20
  let writes = 0
  const counted = {
    ...row,
    claim(...values: Parameters<typeof row.claim>) {
      writes++
      return row.claim(...values)
    },
  }
  for (let round = 0; round < 5 + rounds; round++) {
    // The first rounds show how busy it is.
    if (round === 5) writes = 0
    for (let index = 0; index < 1000; index++) {
      assert.ok(request(share, counted, 1, count, 1_000_000))
      if (!isLow(share, { count }, 4)) continue
      const amount = claimAmount(share, 1, { count })
      grant(share, counted.claim(amount, count, 1_000_000) ?? assert.fail(), amount)
    }
    const amount = endRound(share)
    share.held -= amount
    const state = amount > 0 ? row.giveBack(share.endsAt, amount) : undefined
    if (state === undefined) continue
    writes++
    share.used = state.used
  }
  assert.ok(writes <= 1.2 * rounds, `${writes} writes in ${rounds} rounds`)
})

test('a share that nobody uses is given back after a round, or after ten for an hour and longer, and forgotten later', () => {
  for (const [periodMs, rounds] of [
    [MINUTE, 1],
    [60 * MINUTE, 10],
    [24 * 60 * MINUTE, 10],
  ] as const) {
    const share = newShare('u1', periodMs)
    grant(share, { endsAt: 1_000_000 + periodMs, used: 20 }, 20)
    share.spent = 5
    share.held = 15
    assert.equal(endRound(share), 10)
    share.held = 5
    const given = Array.from({ length: 10 }, () => endRound(share))
    assert.deepEqual(given.indexOf(5), rounds - 1)
    share.held = 0
    assert.equal(isForgettable(share), false)
    for (let round = 0; round < 60; round++) endRound(share)
    assert.equal(isForgettable(share), true)
  }
})
