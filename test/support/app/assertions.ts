import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'

/** Asserts the status and the whole body of a refusal. */
export function refused(response: LightMyRequestResponse, status: number, detail: string): void {
  assert.deepEqual({ status: response.statusCode, body: response.json() }, { status, body: { detail } })
}

/** Asserts a 422 with these validation errors, in this order, and no others. */
export function invalid(response: LightMyRequestResponse, ...places: { loc: (string | number)[]; type: string }[]): void {
  assert.equal(response.statusCode, 422, response.body)
  const { detail } = response.json<{ detail: { loc: (string | number)[]; msg: string; type: string }[] }>()
  assert.deepEqual(
    detail.map(({ loc, type }) => ({ loc, type })),
    places,
  )
  for (const fault of detail) assert.deepEqual(Object.keys(fault).sort(), ['loc', 'msg', 'type'])
}
