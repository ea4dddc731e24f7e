import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'

/** Asserts the status and the whole body of a refusal. */
export function refused(response: LightMyRequestResponse, status: number, detail: string): void {
  assert.deepEqual({ status: response.statusCode, body: response.json() }, { status, body: { detail } })
}

/** Asserts a 422 with exactly these validation errors, in this order. */
export function invalid(response: LightMyRequestResponse, ...expected: { loc: (string | number)[]; type: string }[]): void {
  assert.equal(response.statusCode, 422, response.body)
  const { detail } = response.json<{ detail: { loc: (string | number)[]; msg: string; type: string }[] }>()
  assert.deepEqual(
    detail.map(({ loc, type }) => ({ loc, type })),
    expected,
  )
  for (const error of detail) assert.deepEqual(Object.keys(error).sort(), ['loc', 'msg', 'type'])
}
